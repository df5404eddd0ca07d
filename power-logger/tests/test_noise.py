# SPDX-License-Identifier: GPL-2.0-or-later
"""Correlated noise, rounding, and zero checks."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from given_truths import CHANNELS, RECORD, SHUNT, known, session
from happe_contract.calibration import Correction
from happe_contract.measuring.energy import Figure, measure
from happe_contract.measuring.noise import before_rounding, flicker, rounding, scatter
from happe_contract.measuring.rig import rig_of
from happe_contract.measuring.zeros import ZeroReading, checks_of, judge, read_zero
from happe_contract.rig import Rig
from happe_contract.traces import Block


def ar1(phi: float, count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return AR(1) noise of variance 1, whose tau is (1 + phi) / (1 - phi)."""
    drawn = np.random.default_rng(seed).normal(0, math.sqrt(1 - phi**2), count)
    drawn[0] /= math.sqrt(1 - phi**2)
    for i in range(1, count):
        drawn[i] += phi * drawn[i - 1]
    return drawn


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9, 0.98])
def test_the_autocorrelation_time_is_that_of_the_process(phi: float) -> None:
    found = scatter(ar1(phi, 60_000, 1))
    assert found.tau == pytest.approx((1 + phi) / (1 - phi), rel=0.15)
    assert found.effective == pytest.approx(60_000 / found.tau)


@pytest.mark.parametrize("deviation", [0.0, 0.15, 0.25, 0.4])
def test_rounding_leaves_what_is_stated(deviation: float) -> None:
    # Given values anywhere in a step, with noise before the rounding
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(400):
        value = rng.uniform(0, 1)
        noisy = value + deviation * rng.normal(0, 1, 20_000)
        errors.append(np.rint(noisy).mean() - value)
    assert float(np.std(errors)) == pytest.approx(rounding(1.0, deviation), rel=0.15)


def test_noise_before_rounding_is_less_than_what_is_seen() -> None:
    assert before_rounding(math.hypot(0.7, 1 / math.sqrt(12)), 1.0) == pytest.approx(0.7)
    assert before_rounding(0.1, 1.0) == 0


def reading(mean: float, uncertainty: float = 1e-6) -> ZeroReading:
    return ZeroReading("shunt", 0, mean, uncertainty, 1e-4, 100.0, 1000)


CORRECTION = Correction(known(1.0, 0), known(-1e-4, 1e-5))


def test_a_zero_reading_knows_its_mean_and_its_noise() -> None:
    counts = np.rint(30 * ar1(0.9, 20_000, 3) + 12).astype(np.int16)
    found = read_zero(SHUNT, 0, [Block(0, (counts[:5000],)), Block(6000, (counts[5000:],))], 77)
    tau = (1 + 0.9) / (1 - 0.9)
    assert found.mean == pytest.approx(12 * SHUNT.scale, abs=3 * found.standard_uncertainty)
    assert found.noise == pytest.approx(30 * SHUNT.scale * math.sqrt(tau), rel=0.15)
    assert found.standard_uncertainty == pytest.approx(found.noise / math.sqrt(20_000), rel=0.02)
    assert (found.at_us, found.samples) == (77, 20_000)


def test_a_channel_that_stands_still_is_somewhere_in_its_step() -> None:
    found = read_zero(SHUNT, 0, [Block(0, (np.full(500, 3, dtype=np.int16),))], 0)
    assert found.standard_uncertainty == pytest.approx(SHUNT.scale / math.sqrt(12))


def test_a_zero_check_without_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="no samples"):
        read_zero(SHUNT, 0, [], 0)


def test_a_zero_that_held_says_so_and_how_far_it_drifted() -> None:
    verdict = judge([reading(1.00e-4), reading(1.06e-4), reading(1.02e-4)], CORRECTION)
    assert verdict.holds
    assert verdict.offset == pytest.approx(8e-6 / 3)
    assert verdict.spread == pytest.approx(6e-6)


def test_a_zero_that_did_not_hold_says_what_to_do() -> None:
    verdict = judge([reading(3e-4)], CORRECTION)
    assert not verdict.holds
    assert "happe-power calibrate" in verdict.says


def test_a_zero_that_nobody_checks_has_an_allowance_until_three_checks_tell_its_spread() -> None:
    # Given a record without drift, and a 16-bit channel of half a volt
    given = session(5)
    channels = {name: dataclasses.replace(each, drift=None) for name, each in RECORD.channels.items()}
    rig = rig_of(CHANNELS, dataclasses.replace(RECORD, channels=channels))
    assert isinstance(rig, Rig)
    readings = [reading(volts) for volts in (2e-5, 5e-5, 8e-5)]
    # When the trace has none to three checks
    found = [measure(rig, given.interval, [given.block], checks_of(readings[:n], RECORD)) for n in range(4)]
    # Then a drift without checks is 0.02 % of the range, and three checks show their own
    lines = []
    for each in found:
        assert isinstance(each, Figure)
        lines.append({line.name: line for line in each.budget.lines}["drift of the zero of shunt"])
    allowed, apart = 1.0003 * 2e-4 * 0.5 / math.sqrt(3), 1.0003 / math.sqrt(12)
    assert [line.standard_uncertainty for line in lines] == pytest.approx(
        [allowed, allowed, math.hypot(allowed, apart * 3e-5), apart * 6e-5], rel=1e-4
    )
    assert [line.source for line in lines[2:]] == [
        "spread of 2 zero checks; no drift is stated: 0.02 % of the range allowed",
        "spread of 3 zero checks",
    ]
    notes = [[note for note in each.notes if "no zero check" in note] for each in found if isinstance(each, Figure)]
    assert [len(each) for each in notes] == [1, 0, 0, 0]


def test_one_over_f_noise_is_told_from_white_noise_and_from_noise_with_a_memory() -> None:
    # Given white noise, noise of an AR(1), and white noise with 1/f noise of a twentieth of it, made in the spectrum
    rng = np.random.default_rng(4)
    count = 20_000
    share = np.fft.rfftfreq(8 * count)[1:] ** -0.5
    drawn = (rng.normal(size=len(share)) + 1j * rng.normal(size=len(share))) * share
    pink = np.fft.irfft(np.concatenate([[0], drawn]), norm="ortho")[:count]
    white = rng.normal(size=count)
    # Then only the last has a floor, which is that of the Allan deviation: sqrt(2 ln 2 h) for a power of h / f
    assert flicker(white).floor == 0
    assert flicker(ar1(0.8, count, 3)).floor == 0
    found = flicker(white + 0.05 * pink)
    expected = 0.05 * math.sqrt(2 * math.log(2) * 2)  # each half of the spectrum has drawn's variance of 2
    assert found.floor == pytest.approx(expected, rel=0.5)
    assert found.dof >= 8
    reading_of = read_zero(SHUNT, 0, [Block(0, (np.rint(30 * (white + 0.05 * pink)).astype(np.int16),))], 0)
    assert reading_of.flicker == pytest.approx(30 * SHUNT.scale * found.floor, rel=0.1)


def test_a_drift_between_checks_is_in_the_budget_and_an_offset_if_the_record_does_not_cover_it() -> None:
    given = session(5)
    rig = rig_of(CHANNELS, RECORD)
    assert isinstance(rig, Rig)
    # Given a zero that moved by 0.2 mV, far beyond the record
    read = [dataclasses.replace(reading(mean), flicker=2e-5, flicker_dof=12.0) for mean in (1e-3, 1.2e-3)]
    found = measure(rig, given.interval, [given.block], checks_of(read, RECORD))
    assert isinstance(found, Figure)
    lines = {line.name: line.standard_uncertainty for line in found.budget.lines}
    assert lines["1/f noise of shunt"] == pytest.approx(1.0003 * 2e-5 * math.sqrt(1 + math.log2(20) / 2))
    assert lines["drift of the zero of shunt"] == pytest.approx(1.0003 * 0.2e-3 / 2 / math.sqrt(3))
    assert lines["zero checks of shunt"] == pytest.approx((1.0003 * 1.2e-3 - 2e-5) / math.sqrt(3))
    assert any("zero is off" in note for note in found.notes)


def test_noise_is_the_instruments_alone_where_the_record_knows_it() -> None:
    # Given a load that steps, no zero check, and a record with and without the instrument's noise
    given = session(5)
    channels = {name: dataclasses.replace(each, noise=known(4e-4, 1e-5)) for name, each in RECORD.channels.items()}
    told = rig_of(CHANNELS, type(RECORD)(**{**vars(RECORD), "channels": channels}))
    untold = rig_of(CHANNELS, RECORD)
    assert isinstance(told, Rig)
    assert isinstance(untold, Rig)
    one, other = (measure(rig, given.interval, [given.block]) for rig in (told, untold))
    assert isinstance(one, Figure)
    assert isinstance(other, Figure)
    # Then with the record's noise the load's own steps are no noise, and without it a note says so
    noise = next(line for line in one.budget.lines if line.name == "noise of shunt")
    assert noise.standard_uncertainty == pytest.approx(1.0003 * 4e-4 / math.sqrt(1000), rel=1e-2)
    assert noise.dof == pytest.approx(0.5 * 40**2)
    assert any("count as noise" in note for note in other.notes)
    assert not any("count as noise" in note or "stood still" in note for note in one.notes)
