# SPDX-License-Identifier: GPL-2.0-or-later
"""Correlated noise, rounding, zero checks, and loads that switch in time with the samples."""

import dataclasses
import math

import numpy as np
import pytest

from given_truths import RECORD, SHUNT, figure, known, rig, session, stating
from happe_contract.calibration import Correction
from happe_contract.measuring.energy import measure
from happe_contract.measuring.noise import before_rounding, flicker, rounding, scatter
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.zeros import MOST_VALUES, ZeroReading, checks_of, judge, read_zero
from happe_contract.rig import channels_of
from happe_contract.traces import Block, Channel, Filter, Measures
from happe_power import sources
from happe_power.recording.header import Purpose, header_of


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


def test_the_noise_of_a_long_zero_check_is_that_of_a_short_one() -> None:
    counts = np.rint(30 * np.random.default_rng(8).normal(0, 1, 8 * MOST_VALUES)).astype(np.int16)
    short, long = (read_zero(SHUNT, 0, [Block(0, (counts[:size],))], 0) for size in (MOST_VALUES, 8 * MOST_VALUES))
    assert long.noise == pytest.approx(short.noise, rel=0.05)


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
    made = rig(record=stating(drift=None))
    readings = [reading(volts) for volts in (2e-5, 5e-5, 8e-5)]
    # When the trace has none to three checks
    found = [figure(made, given.interval, [given.block], checks_of(readings[:n], RECORD)) for n in range(4)]
    # Then a drift without checks is 0.02 % of the range, and three checks show their own
    lines = [{line.name: line for line in each.budget.lines}["drift of the zero of shunt"] for each in found]
    allowed, apart = 1.0003 * 2e-4 * 0.5 / math.sqrt(3), 1.0003 / math.sqrt(12)
    assert [line.standard_uncertainty for line in lines] == pytest.approx(
        [allowed, allowed, math.hypot(allowed, apart * 3e-5), apart * 6e-5], rel=1e-4
    )
    assert [line.source for line in lines[2:]] == [
        "spread of 2 zero checks; no drift is stated: 0.02 % of the range allowed",
        "spread of 3 zero checks",
    ]
    notes = [[note for note in each.notes if "no zero check" in note] for each in found]
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
    # Given a zero that moved by 0.2 mV, far beyond the record
    read = [dataclasses.replace(reading(mean), flicker=2e-5, flicker_dof=12.0) for mean in (1e-3, 1.2e-3)]
    found = figure(rig(), given.interval, [given.block], checks_of(read, RECORD))
    lines = {line.name: line.standard_uncertainty for line in found.budget.lines}
    assert lines["1/f noise of shunt"] == pytest.approx(1.0003 * 2e-5 * math.sqrt(1 + math.log2(20) / 2))
    assert lines["drift of the zero of shunt"] == pytest.approx(1.0003 * 0.2e-3 / 2 / math.sqrt(3))
    assert lines["zero checks of shunt"] == pytest.approx((1.0003 * 1.2e-3 - 2e-5) / math.sqrt(3))
    assert any("zero is off" in note for note in found.notes)


def test_noise_is_the_instruments_alone_where_the_record_knows_it() -> None:
    # Given a load that steps, no zero check, and a record with and without the instrument's noise
    given = session(5)
    rigs = (rig(record=stating(noise=known(4e-4, 1e-5))), rig())
    one, other = (figure(each, given.interval, [given.block]) for each in rigs)
    # Then with the record's noise the load's own steps are no noise, and without it a note says so
    noise = next(line for line in one.budget.lines if line.name == "noise of shunt")
    assert noise.standard_uncertainty == pytest.approx(1.0003 * 4e-4 / math.sqrt(1000), rel=1e-2)
    assert noise.dof == pytest.approx(0.5 * 40**2)
    assert any("count as noise" in note for note in other.notes)
    assert not any("count as noise" in note or "stood still" in note for note in one.notes)


RATE_HZ = 50.0  # the noise of given_truths


@pytest.mark.parametrize("poles", [1, 2, 3])
@pytest.mark.parametrize("times", [8, 40])
def test_the_worst_load_is_off_by_what_a_filter_is_said_to_let_through(poles: int, times: int) -> None:
    # Given pulses of 1/200 of a sample period, in time with the samples, through RC stages, step by step
    fine = 200
    decay = np.exp(-2 * np.pi / times / fine)
    signal = np.tile(np.eye(1, fine)[0] * fine, 60 * times)
    for _ in range(poles):
        held = 0.0
        for i, value in enumerate(signal):
            held = signal[i] = held * decay + value * (1 - decay)
    # When an instrument takes one sample of each period, at the worst place
    settled = signal[-20 * times * fine :].reshape(-1, fine)
    off = float(np.abs(settled.mean(axis=0) - 1).max())
    # Then the samples' mean deviates by at most the reported limit, and almost by that much
    assert 0.8 < off / Filter("a test", RATE_HZ / times, poles).leak(RATE_HZ) < 1.01


def test_a_mean_over_whole_periods_hides_nothing_and_one_over_a_part_of_it_misses_the_rest() -> None:
    assert [Filter("", mean_s=seconds).leak(100) for seconds in (0.01, 0.03, 0.010005)] == pytest.approx(
        [0, 0, 1e-3], abs=1e-5
    )
    assert Filter("", mean_s=0.002).leak(100) == pytest.approx(4)  # pulses in a fifth of the time count five times
    assert Filter("", mean_s=0.025).leak(100) == pytest.approx(0.2)  # two pulses or three, in place of two and a half


@pytest.mark.parametrize(
    ("by", "says"),
    [
        (None, "nothing states a filter of shunt"),
        (Filter("a box", 20.0), "(20 Hz, 1 pole) is too weak: if the load switches"),
        (Filter("a box", RATE_HZ / 20), "(2.5 Hz, 1 pole) is too weak: if the load switches"),
        (
            Filter("a meter", mean_s=1 / RATE_HZ),
            "nothing states the `ripple` of shunt behind its filter (means of 0.02 s)",
        ),
    ],
)
def test_a_figure_is_refused_if_a_load_could_hide_from_the_samples(by: Filter | None, says: str) -> None:
    given = session(1)
    found = measure(rig(record=stating(filter=by)), given.interval, [given.block])
    assert isinstance(found, Refusal)
    assert found.why is Why.ALIASING
    assert says in found.detail


def test_what_a_filter_lets_through_and_its_delay_are_in_the_budget() -> None:
    given = session(1)
    made = rig(record=stating(filter=Filter("two RC", 1.0, 2, ripple=0.02)))
    found = figure(made, given.interval, [given.block])
    lines = {line.name: line for line in found.budget.lines}
    leak = 2 * sum(1 / (1 + (k * found.interval.rate_hz) ** 2) for k in range(1, 1000))
    assert lines["aliasing of shunt"].standard_uncertainty == pytest.approx(leak / (1 - leak) / 3**0.5, rel=1e-3)
    assert lines["aliasing of shunt"].sensitivity == found.mean_w
    assert lines["aliasing of supply"].standard_uncertainty == pytest.approx(0.05 * leak / 3**0.5, rel=1e-3)
    assert lines["delay of shunt"].standard_uncertainty == pytest.approx(1 / np.pi / 3**0.5)


def test_the_supply_costs_its_ripple_if_nobody_states_its_filter() -> None:
    given = session(1)
    channels = {
        "shunt": RECORD.channels["shunt"],
        "supply": dataclasses.replace(RECORD.channels["supply"], filter=None),
    }
    made = rig(record=dataclasses.replace(RECORD, channels=channels))
    found = figure(made, given.interval, [given.block])
    (line,) = (each for each in found.budget.lines if each.name == "aliasing of supply")
    assert line.standard_uncertainty == pytest.approx(0.05 / 3**0.5)
    assert line.source == "no filter is stated, for a ripple of 5 %"


def test_bandwidth_ripple_and_resolution_of_a_source_are_in_its_traces_header() -> None:
    ripple = {"ripple": [0.02, 0]}
    source = sources.make({"kind": "sim", "bandwidth": [160, 40], "poles": [2, 1], "resolution": [1e-6]} | ripple)
    started = source.start(0)
    header = header_of(source, Purpose("a-study"), "2b1e5a52-0000-4000-8000-000000000000", started, "monotonic:x")
    made = channels_of(header)
    assert [(each.filter, each.resolution) for each in made] == [
        (Filter("bandwidth of the source", 160.0, 2, ripple=0.02), 1e-6),
        (Filter("bandwidth of the source", 40.0, 1, ripple=0.0), 1e-6),
    ]


def test_floats_are_rounded_to_what_is_stated_or_to_the_smallest_change_that_is_seen() -> None:
    # Given watts in steps of 20 mW, with noise of a step on them, as a meter's floats
    given = session(1)
    rng = np.random.default_rng(2)
    watts = np.rint(rng.normal(1500, 0.2, 3000)) * 0.02
    channel = Channel(
        "power", Measures.POWER, "W", np.dtype("float64"), 1.0, 0.0, filter=Filter("", mean_s=1 / RATE_HZ)
    )

    def line(resolution: float | None) -> tuple[float, str]:
        made = rig(dataclasses.replace(channel, resolution=resolution), record=None)
        found = figure(made, given.interval, [Block(0, (watts,))])
        (line,) = (each for each in found.budget.lines if each.name == "quantisation of power")
        return line.standard_uncertainty, line.source

    # Then the budget has the same figure, from the record's step and from the values' step
    stated, seen = line(0.02), line(None)
    assert stated[1] == "a step is 0.02 W"
    assert seen[0] == pytest.approx(stated[0])
    assert seen[1] == "they show a step of 0.02 W"
    assert stated[0] > 0.001
    # And values that never change do not tell the step
    still = figure(rig(channel, record=None), given.interval, [Block(0, (np.full(3000, 100 / 3),))])
    assert any("nothing states its `resolution`" in note for note in still.notes)
