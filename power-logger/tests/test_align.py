# SPDX-License-Identifier: GPL-2.0-or-later
"""The marker: its pattern, and how the code finds it."""

from itertools import pairwise

import numpy as np
import pytest

from happe_power.marker import BIN_US, BINS, CHIP_US, DURATION_US, SEARCH_US, align, chips, pattern, template


def power(late_us: float, noise: float, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return 25 W, with 14 W more where the marker is on, and noise in each bin."""
    marker = template(SEARCH_US + late_us, BINS)
    return 25 + 14 * marker + np.random.default_rng(seed).normal(0, noise, BINS)


def test_the_pattern_is_mistaken_for_itself_at_no_other_chip() -> None:
    signs = 2 * np.array(chips()) - 1
    assert len(signs) == 127
    assert {int(signs @ np.roll(signs, by)) for by in range(1, 127)} == {-1}


def test_the_pattern_goes_on_and_off_by_turns_and_ends_off() -> None:
    switches = pattern(1_000_000)
    assert switches[0] == (1_000_000, True)
    assert switches[1] == (1_000_000 + 7 * CHIP_US, False)
    assert switches[-1] == (1_000_000 + DURATION_US, False)
    on_us = sum(b.at_us - a.at_us for a, b in pairwise(switches) if a.on)
    assert on_us == 64 * CHIP_US


@pytest.mark.parametrize("late_us", [0.0, 3_333.0, -1_234_567.8, 9_500_000.0])
def test_without_noise_the_delay_is_exact(late_us: float) -> None:
    found = align(power(late_us, 0.0))
    assert found.late_us == pytest.approx(late_us, abs=1)
    assert found.step == pytest.approx(14, rel=1e-6)


def test_delays_are_as_far_off_as_stated() -> None:
    rng = np.random.default_rng(9)
    errors, stated = [], []
    for seed in range(150):
        late_us = rng.uniform(-3e6, 3e6)
        found = align(power(late_us, 3.0, seed))
        assert found.late_us is not None
        assert found.uncertainty_us is not None
        errors.append(found.late_us - late_us)
        stated.append(found.uncertainty_us)
    # Then `align` finds it within a fraction of a bin, and k = 2 holds the expected share or a little more
    held = np.mean(np.abs(errors) <= 2 * np.array(stated))
    assert np.std(errors) < BIN_US / 20
    assert 0.93 <= held <= 1
    print(f"noise 3 W a bin, step 14 W: {np.std(errors):.0f} us off, {np.mean(stated):.0f} us stated, {held:.3f} held")


def test_where_there_is_no_marker_none_is_found() -> None:
    # Given loads that change slowly, loads that jump, and pure noise
    rng = np.random.default_rng(2)
    loads = [np.cumsum(rng.normal(0, 1, BINS)) for _ in range(100)]
    loads += [np.repeat(rng.uniform(20, 45, BINS // 20), 20) for _ in range(100)]
    loads += [rng.normal(30, 1, BINS) for _ in range(100)]
    assert not any(align(load).found for load in loads)


def test_a_game_on_top_of_the_marker_does_not_hide_it() -> None:
    rng = np.random.default_rng(3)
    game = np.repeat(rng.normal(0, 4, BINS // 50 + 1), 50)[:BINS]
    found = align(power(42_000.0, 2.0) + game)
    assert found.late_us is not None
    assert found.uncertainty_us is not None
    assert abs(found.late_us - 42_000.0) < 3 * found.uncertainty_us


def test_bins_without_samples_are_passed_over_and_too_many_of_them_find_nothing() -> None:
    series = power(-20_000.0, 1.0)
    series[1000:1300] = np.nan
    found = align(series)
    assert found.late_us == pytest.approx(-20_000.0, abs=1000)
    series[:2500] = np.nan
    assert not align(series).found
