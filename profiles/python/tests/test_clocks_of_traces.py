# SPDX-License-Identifier: GPL-2.0-or-later
"""Index to monotonic to server time, and back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_contract.cuts import Clocks
from happe_contract.server_time import ClockSetError, ServerClock, server_clock
from happe_contract.time_base import is_nominal, time_base
from happe_contract.traces import ClockEstimate, Gap, Reason, TimePair

HOUR_US = 3_600_000_000
SERVER_US = 1_793_440_000_000_000
RATE_HZ = 100_000.0


def late_pairs(rng: np.random.Generator, seconds: int, hz: float, begin_us: int, first: int = 0) -> list[TimePair]:
    """A pair a second of an instrument that really samples at `hz`, 2 ms late on average, now and then a second."""
    index = np.arange(seconds + 1) * round(RATE_HZ)
    late = rng.exponential(2000, len(index)) + np.where(rng.random(len(index)) < 0.01, 1_000_000, 0)
    times = begin_us + index / hz * 1e6 + late
    return [TimePair(int(i) + first, int(t), 0) for i, t in zip(index, times, strict=True)]


def clock_of(*estimates: tuple[int, int, int]) -> ServerClock:
    """A server clock of (monotonic, offset, bound)."""
    made = server_clock("monotonic:test", [ClockEstimate(*each) for each in estimates])
    assert made is not None
    return made


@pytest.mark.parametrize("ppm", [100, -100])
@pytest.mark.parametrize("offset_s", [3, -3])
def test_eight_hours_with_a_wrong_rate_and_offset_are_recovered_to_10_ms(ppm: int, offset_s: int) -> None:
    # Given a card that is 100 ppm off, hosts that are 3 s apart and drift by 20 ppm, an estimate to 3 ms at either end
    rng = np.random.default_rng(8)
    hz, begin_us, drift = RATE_HZ * (1 + ppm * 1e-6), 7_000_000_000, 20e-6
    offset_us = SERVER_US + offset_s * 1_000_000
    estimates = [
        ClockEstimate(begin_us + t, round(offset_us + drift * t + rng.uniform(-3000, 3000)), 3000)
        for t in (-60_000_000, 8 * HOUR_US + 60_000_000)
    ]
    server = server_clock("monotonic:test", estimates)
    assert server is not None
    clocks = Clocks(time_base(late_pairs(rng, 8 * 3600, hz, begin_us), [], RATE_HZ), server)
    # When samples of the whole session are given their server time, and instants their sample
    samples = rng.integers(0, round(8 * 3600 * hz), 1000)
    truth_us = [offset_us + begin_us + (i / hz * 1e6) * (1 + drift) for i in samples.tolist()]
    errors = [clocks.server_us(float(i)) - t for i, t in zip(samples, truth_us, strict=True)]
    back = [(clocks.cut(round(t)).position - i) / hz * 1e6 for i, t in zip(samples.tolist(), truth_us, strict=True)]
    # Then all are right to 10 ms, where the nominal rate alone is 2.9 s off, and within what is stated
    assert max(map(abs, errors)) < 10_000
    assert max(map(abs, back)) < 10_000
    assert all(abs(b) <= clocks.cut(round(t)).half_width_us for b, t in zip(back, truth_us, strict=True))
    print(f"ppm {ppm}, offset {offset_s} s: at most {max(map(abs, errors)):.0f} us off")


def test_a_quartz_that_warms_up_is_followed() -> None:
    # Given a rate that falls by 5 ppm over two hours
    rng = np.random.default_rng(3)
    index = np.arange(0, 7201) * 1000
    true_us = index * 1000 * (1 + 5e-6 * index / index[-1])
    pairs = [TimePair(int(i), int(t), 0) for i, t in zip(index, true_us + rng.exponential(500, 7201), strict=True)]
    base = time_base(pairs, [], 1000.0)
    # Then no instant is off by more than a fraction of how late pairs are
    assert max(abs(base.monotonic_us(float(i)) - base.origin_us - t) for i, t in zip(index, true_us, strict=True)) < 500


def test_one_pair_that_is_very_late_does_nothing() -> None:
    pairs = [TimePair(i * 1000, i * 1_000_000, 0) for i in range(100)]
    late = [*pairs[:50], TimePair(50_000, 59_000_000, 0), *pairs[51:]]
    here, there = time_base(pairs, [], 1000.0), time_base(late, [], 1000.0)
    assert [there.monotonic_us(i) for i in (0.0, 50_000.0, 99_000.0)] == [
        here.monotonic_us(i) for i in (0.0, 50_000.0, 99_000.0)
    ]


@pytest.mark.parametrize("reason", [Reason.STALL, Reason.UNPLUGGED, Reason.OVERFLOW, Reason.KILLED])
def test_after_a_restart_time_goes_by_the_pairs_after_it(reason: Reason) -> None:
    # An instrument that came back after index 60,000, its count off the old line by 0.25 s
    before = [TimePair(i * 1000, i * 1_000_000, 0) for i in range(61)]
    after = [TimePair(70_000 + i * 1000, 70_250_000 + i * 1_000_000, 0) for i in range(61)]
    base = time_base([*before, *after], [Gap(60_000, 70_000, reason)], 1000.0)
    assert base.monotonic_us(59_000.0) == 59_000_000
    assert base.monotonic_us(71_000.0) == 71_250_000
    # And in the gap it goes from one to the other
    assert base.monotonic_us(65_000.0) == (60_000_000 + 70_250_000) // 2
    assert base.piece(59_000.0) != base.piece(71_000.0)


def test_a_gap_in_which_the_instrument_went_on_is_no_restart() -> None:
    pairs = [TimePair(i * 1000, i * 1_000_000, 0) for i in (0, 10, 50, 60)]
    base = time_base(pairs, [Gap(20_000, 30_000, Reason.SATURATED)], 1000.0)
    assert base.piece(0.0) == base.piece(55_000.0)


def test_the_longest_piece_gives_the_rate_and_a_piece_of_a_minute_has_its_own() -> None:
    # Given two pairs, a restart, three exact minutes, and after another restart two minutes that are 1 % slow
    few = [TimePair(0, 0, 0), TimePair(10_000, 11_000_000, 0)]
    exact = [TimePair(20_000 + i * 1000, 20_000_000 + i * 1_000_000, 0) for i in range(181)]
    slow = [TimePair(250_000 + i * 1000, 300_000_000 + i * 1_010_000, 0) for i in range(121)]
    gaps = [Gap(10_000, 20_000, Reason.STALL), Gap(201_000, 240_000, Reason.STALL)]
    base = time_base([*few, *exact, *slow], gaps, 1000.0)
    # Then each rate holds up to the beginning of its piece
    assert base.rate_hz == pytest.approx(1000.0)
    assert base.monotonic_us(240_000.0) == pytest.approx(300_000_000 - 10_100_000, abs=2)


def test_time_never_goes_back_at_a_restart() -> None:
    # An instrument that came back 15 s earlier than the samples before it, at their rate, would have ended
    pairs = [TimePair(0, 0, 0), TimePair(30_000, 30_000_000, 0), TimePair(60_001, 45_000_000, 0)]
    base = time_base([*pairs, TimePair(120_001, 105_000_000, 0)], [Gap(60_000, 60_001, Reason.STALL)], 1000.0)
    times = [base.monotonic_us(float(position)) for position in range(0, 120_000, 1000)]
    assert times == sorted(times)


def test_a_single_pair_takes_the_nominal_rate_and_says_how_little_it_knows() -> None:
    base = time_base([TimePair(10_000, 1_000_000, 0)], [Gap(100_000, 100_001, Reason.STALL)], 1000.0)
    assert base.monotonic_us(60_000.0) == base.us(60_000.0) == 51_000_000
    assert base.half_width_us(10_000.0) == 501
    assert base.half_width_us(0.0) == pytest.approx(501 + 500e-6 * 10_000_000)
    assert base.half_width_us(60_000.0) == pytest.approx(501 + 500e-6 * 50_000_000)
    assert base.half_width_us(210_000.0) == pytest.approx(501 + 500e-6 * 200_000_000)


def test_times_that_are_made_of_the_nominal_rate_are_told_from_those_of_a_clock() -> None:
    # Given an hour by the nominal rate, in whole microseconds, and the same with a single time that a clock has told
    made = [TimePair(i, 7_000_000 + round(i * 1e6 / 3e3), 0) for i in range(0, 3600 * 3000, 30_001)]
    told = [*made[:-1], TimePair(made[-1].index, made[-1].monotonic_us + 3, 0)]
    assert [is_nominal(pairs, 3e3) for pairs in (made, told)] == [True, False]
    # Then half an hour after the first one a time may be off by 0.9 s, by pairs only by what they say
    halfway = 1800 * 3000.0
    bases = [time_base(pairs, [], 3e3, nominal=is_nominal(pairs, 3e3)) for pairs in (made, told)]
    assert bases[0].monotonic_us(halfway) == 1807_000_000
    assert [base.half_width_us(halfway) for base in bases] == pytest.approx([900_168, 168], abs=3)


@given(st.integers(-3_000_000, 12 * HOUR_US), st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_server_time_and_back_is_the_same_instant(monotonic_us: int, first_us: int, last_us: int) -> None:
    ends = ((0, SERVER_US + first_us, 100), (8 * HOUR_US, SERVER_US + last_us, 100))
    clock = clock_of(ends[0], (4 * HOUR_US, SERVER_US, 100), ends[1])
    assert abs(clock.monotonic_us(clock.server_us(monotonic_us)) - monotonic_us) <= 1


def test_beyond_the_estimates_the_bound_grows_by_500_ppm_and_between_them_by_1() -> None:
    clock = clock_of((0, 0, 1000), (1_000_000_000, 0, 1000))
    assert bound(clock, -10_000_000) == pytest.approx(1000 + 5000)
    assert bound(clock, 1_010_000_000) == pytest.approx(1000 + 5000)
    assert bound(clock, 10_000_000) == pytest.approx(1000 + 10)
    assert bound(clock, 1_000_000_000) == pytest.approx(1000)


def bound(clock: ServerClock, monotonic_us: int) -> float:
    return sum(abs(part.weight) * part.half_width_us for part in clock.parts(monotonic_us))


def test_the_bound_is_the_sum_of_its_parts() -> None:
    clock = clock_of((0, 40, 1000), (60_000_000, 70, 500), (120_000_000, 90, 700))
    for at in (-5_000_000, 0, 10_000_000, 59_999_999, 100_000_000, 130_000_000):
        assert clock.bound_us(at) == pytest.approx(bound(clock, at))
    assert clock.parts(60_000_000)[0].name == "clock at the cuts, estimate at 60.0 s"


def test_beyond_the_estimates_the_nearest_one_counts() -> None:
    clock = clock_of((0, 500, 100), (HOUR_US, 600, 100), (2 * HOUR_US, 400, 100))
    assert [clock.server_us(at) - at for at in (-HOUR_US, 3 * HOUR_US)] == [500, 400]
    assert [clock.monotonic_us(at) - at for at in (-HOUR_US, 3 * HOUR_US)] == [-500, -400]


def test_an_estimate_that_says_less_than_its_neighbour_is_left_out() -> None:
    clock = clock_of((0, 0, 100), (1_000_000, 400_000, 500_000), (10_000_000, 0, 100))
    assert [each.monotonic_us for each in clock.estimates] == [0, 10_000_000]
    first = clock_of((0, 0, 500_000), (1_000_000, 0, 100))
    assert [each.monotonic_us for each in first.estimates] == [1_000_000]


def test_a_clock_that_was_set_between_two_estimates_is_found() -> None:
    said = "the estimates at 30.0 s and 90.0 s are 1000.0 ms apart: a clock was set between them"
    with pytest.raises(ClockSetError, match=said):
        clock_of((30_000_000, 0, 100), (90_000_000, 1_000_000, 100))
