# SPDX-License-Identifier: GPL-2.0-or-later
"""Power, energy and their budgets: sums, rigs, refusals."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import given_truths
from given_truths import CHANNELS, RECORD, figure, known
from happe_contract.calibration import Calibration, Correction, ShuntLine, SupplyTap, Wiring
from happe_contract.cuts import Cut
from happe_contract.measuring.budget import Budget, Contribution, Kind, budget_of, sum_of
from happe_contract.measuring.energy import Figure, Interval
from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.sums import differences
from happe_contract.rig import rig_of
from happe_contract.server_time import Part
from happe_contract.traces import Block, Channel, Filter, Measures
from happe_power.compare import improvement

RATE_HZ = 1000
EXACT = dataclasses.replace(
    RECORD,
    shunt_ohm=known(0.1, 0),
    divider=known(3.0, 0),
    channels={
        name: Correction(known(1, 0), known(0, 0), known(1e-4, 0), drift=known(0, 0)) for name in ("shunt", "supply")
    },
)
MEAN = Filter("a test", mean_s=1 / RATE_HZ, ripple=0.0)
SHUNT, SUPPLY = (dataclasses.replace(each, filter=MEAN) for each in CHANNELS)
SHUNT_F = dataclasses.replace(SHUNT, dtype=np.dtype("float64"), scale=1.0)
SUPPLY_F = dataclasses.replace(SUPPLY, dtype=np.dtype("float64"), scale=1.0)
POWER = Channel("power", Measures.POWER, "W", np.dtype("float64"), 1.0, 0.0, filter=MEAN)
ENERGY = Channel("package", Measures.ENERGY, "J", np.dtype("int64"), 1e-6, 0.0)


def cut(second: float, off_us: float = 0.0) -> Cut:
    """An instant of a session that began at index 0 and server time 0."""
    parts = (Part("clock", "clock", 1.0, off_us, "a test"),) if off_us else ()
    return Cut(round(second * 1e6), second * RATE_HZ, parts)


def interval(begin: float, end: float, off_us: float = 0.0) -> Interval:
    """An interval in seconds."""
    return Interval("trace", cut(begin, off_us), cut(end, off_us))


rig = partial(given_truths.rig, record=EXACT)


def watts(seconds: float = 10.0, level: float = 30.0) -> Block:
    """Constant power."""
    return Block(0, (np.full(round(seconds * RATE_HZ), level),))


PLAIN = rig(POWER, record=None)


def test_power_is_current_times_the_voltage_at_the_laptop() -> None:
    # Given 2 A through 0.1 ohm, and 20 V before the shunt behind a divider of three
    block = Block(0, (np.full(1000, 0.2), np.full(1000, 20 / 3)))
    # Then the laptop has 19.8 V, after the shunt 20 V
    assert figure(rig(SHUNT_F, SUPPLY_F), interval(0, 1), [block]).mean_w == pytest.approx(2 * 19.8)
    after = dataclasses.replace(EXACT, wiring=Wiring(ShuntLine.RETURN, SupplyTap.AFTER))
    assert figure(rig(SHUNT_F, SUPPLY_F, record=after), interval(0, 1), [block]).mean_w == pytest.approx(2 * 20)


def test_a_record_that_does_not_say_where_the_supply_is_measured_costs_half_the_shunts_drop() -> None:
    block = Block(0, (np.full(1000, 0.2), np.full(1000, 20 / 3)))
    made = rig(SHUNT_F, SUPPLY_F, record=dataclasses.replace(EXACT, wiring=None))
    found = figure(made, interval(0, 1), [block])
    assert found.mean_w == pytest.approx(2 * 19.9)
    assert found.budget.standard_uncertainty == pytest.approx(2 * 0.1, rel=1e-3)
    assert any("side of the shunt" in note for note in found.notes)


def test_raw_counts_are_scaled_then_offset_then_gained_then_zeroed() -> None:
    # Given a channel of 2 V a count, 1 V at zero counts; gain 3, zero 5 (docs/uploads.md, Power traces)
    channel = dataclasses.replace(POWER, dtype=np.dtype("int16"), scale=2.0, offset=1.0)
    record = dataclasses.replace(EXACT, channels={"power": Correction(known(3, 0), known(5, 0))})
    raw = Block(0, (np.full(1000, 10, dtype=np.int16),))
    assert figure(rig(channel, record=record), interval(0, 1), [raw]).mean_w == (10 * 2 + 1) * 3 + 5


def test_current_times_a_stated_supply_voltage() -> None:
    current = dataclasses.replace(POWER, name="current", measures=Measures.CURRENT, unit="A")
    record = dataclasses.replace(EXACT, supply_volt=known(20, 0.5), channels={})
    found = figure(rig(current, record=record), interval(0, 1), [Block(0, (np.full(1000, 2.0),))])
    assert found.mean_w == pytest.approx(40)
    assert {line.name: line.sensitivity for line in found.budget.lines}["supply, as stated"] == pytest.approx(2)
    assert "the supply's voltage is stated, not measured" in found.notes


def test_an_energy_counter_gives_the_difference_of_its_ends() -> None:
    # Given a counter of microjoules that grows by 25 mJ in each millisecond, so 25 W
    counts = np.arange(0, 10_000, dtype=np.int64) * 25_000
    found = figure(
        rig(ENERGY, record=None), interval(1, 9), [Block(0, (counts[:4000],)), Block(4000, (counts[4000:],))]
    )
    assert found.mean_w == pytest.approx(25)
    assert found.energy_j == pytest.approx(200)
    assert not any("noise" in line.name for line in found.budget.lines)


def test_a_step_of_a_counter_is_the_energy_of_the_sample_that_it_began_with() -> None:
    # Given a counter of joules, read each second, that grows by 10 W from 5 s to 15 s, and stands before and after
    joules = np.clip(np.arange(21) - 5, 0, 10) * 10.0
    counts = np.rint(joules / ENERGY.scale).astype(np.int64)

    # When a person measures just these ten seconds, and the times right before and right after them
    def mean_w(begin: int, end: int) -> float:
        cuts = (Cut(each * 1_000_000, float(each), ()) for each in (begin, end))
        return figure(rig(ENERGY, record=None), Interval("trace", *cuts), [Block(0, (counts,))]).mean_w

    # Then the ten seconds have all of the energy, up to the counter's last step
    assert (mean_w(4, 5), mean_w(5, 15), mean_w(15, 20)) == (0, 10, 0)


def test_before_a_gap_a_counters_last_step_is_not_known() -> None:
    steps = list(differences([(0, np.array([1.0, 3.0])), (2, np.array([6.0])), (9, np.array([50.0, 51.0]))]))
    assert [(first, values.tolist()) for first, values in steps] == [(0, [2.0]), (1, [3.0]), (9, [1.0])]


def test_a_counter_that_began_anew_takes_no_energy_back() -> None:
    # Given a counter that was at 1030 J, and at 2 J a sample later
    counts = [(0, np.array([1000.0, 1010.0, 1030.0, 2.0, 12.0])), (5, np.array([0.0, 10.0]))]

    # When `differences` takes its steps
    steps = [(first, values.tolist()) for first, values in differences(counts)]

    # Then the steps across a new begin are missing, not negative
    assert steps == [(0, [10.0, 20.0]), (3, [10.0]), (5, [10.0])]


def test_a_cut_inside_of_a_sample_takes_its_share() -> None:
    # Given 10 W for a millisecond, then 20 W; an interval from the middle of one to the middle of the next
    block = Block(0, (np.repeat([10.0, 20.0], 1),))
    found = figure(PLAIN, interval(0.0005, 0.00175), [block], limits=Limits(clock_share=1))
    assert found.mean_w == pytest.approx((0.5 * 10 + 0.75 * 20) / 1.25)
    assert found.energy_j == pytest.approx((0.5 * 10 + 0.75 * 20) / 1000)


@given(st.lists(st.floats(0, 9.9), min_size=3, max_size=3, unique=True), st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_energies_of_adjoining_intervals_add_up(cuts: list[float], seed: int) -> None:
    # Given power that differs in each sample, in blocks of any length
    values = np.random.default_rng(seed).uniform(10, 50, 10_000)
    at = seed * 97 + 5
    blocks = [Block(0, (values[:at],)), Block(at, (values[at:],))]
    a, b, c = sorted(round(each, 6) for each in cuts)
    assume(min(b - a, c - b) > 1e-5)
    limits = Limits(clock_share=1)
    first, second, both = (figure(PLAIN, interval(*each), blocks, limits=limits) for each in ((a, b), (b, c), (a, c)))
    assert first.energy_j + second.energy_j == pytest.approx(both.energy_j, rel=1e-9)


def test_missing_samples_that_are_let_pass_are_in_the_budget() -> None:
    values = np.random.default_rng(1).normal(30, 2, 9_500)
    found = figure(PLAIN, interval(0, 10), [Block(0, (values,))], limits=Limits(coverage=0.9))
    parts = {line.name: line.part for line in found.budget.lines}
    assert found.coverage == pytest.approx(0.95)
    assert parts["missing samples"] == pytest.approx(0.05 * 2, rel=0.1)


def test_a_clock_that_is_off_costs_the_step_of_power_at_the_cut() -> None:
    # Given 20 W up to 5 s and 40 W from then on, and an interval from 4 s to 8 s with cuts good to 6 ms
    block = Block(0, (np.repeat([20.0, 40.0], 5000),))
    found = figure(PLAIN, interval(4, 8, 6000), [block])
    # Then both cuts deviate together: time lost at 40 W counts at 20 W
    line = next(line for line in found.budget.lines if line.name == "clock")
    assert found.mean_w == pytest.approx(35)
    assert line.sensitivity == pytest.approx((40 - 20) / 4)
    assert line.standard_uncertainty == pytest.approx(0.006 / math.sqrt(3))


def test_an_estimate_near_one_cut_counts_by_its_weight_at_each() -> None:
    # Given 15 W, and 40 W from 5 s to 15 s, and two clock estimates with weights 0.9 and 0.1 at one cut, 0.1 and
    # 0.9 at the other
    block = Block(0, (np.repeat([15.0, 40.0, 15.0], [5000, 10_000, 5000]),))
    cuts = [
        Cut(at * 1_000_000, float(at * RATE_HZ), tuple(Part(key, key, w, 6000, "a test") for key, w in weights.items()))
        for at, weights in ((5, {"early": 0.9, "late": 0.1}), (15, {"early": 0.1, "late": 0.9}))
    ]
    lines = {line.name: line for line in figure(PLAIN, Interval("trace", *cuts), [block]).budget.lines}
    # Then each estimate counts with the worse of "both cuts early" and "both late"
    assert abs(lines["early"].sensitivity) == pytest.approx(0.9 * 25 / 10)
    assert abs(lines["late"].sensitivity) == pytest.approx(0.9 * 25 / 10)


@pytest.mark.parametrize(
    ("channels", "record", "why"),
    [
        ((SHUNT, SUPPLY), None, Why.NO_SHUNT),
        ((SHUNT, SUPPLY), dataclasses.replace(RECORD, shunt_ohm=None), Why.NO_SHUNT),
        ((SHUNT,), RECORD, Why.NO_SUPPLY),
        ((SUPPLY,), RECORD, Why.NO_CHANNEL),
    ],
)
def test_watts_without_what_they_need_are_refused(
    channels: tuple[Channel, ...], record: Calibration | None, why: Why
) -> None:
    found = rig_of(channels, record)
    assert isinstance(found, Refusal)
    assert found.why is why


def test_a_channel_can_be_picked_by_name() -> None:
    assert rig(SHUNT, SUPPLY, POWER).channel is SHUNT
    assert rig(SHUNT, SUPPLY, POWER, name="power").channel is POWER
    found = rig_of((SHUNT, SUPPLY), RECORD, "power")
    assert isinstance(found, Refusal)
    assert "shunt (shunt), supply (supply)" in found.detail


def quantisation(found: Figure) -> dict[str, float]:
    """Return the budget's lines that rounding to counts causes, in watts."""
    return {line.name: line.part for line in found.budget.lines if "quantisation" in line.name}


def test_a_steady_signal_is_known_to_a_count_over_the_root_of_twelve() -> None:
    # Given counts of 1 mV for the shunt with a gain of 2, counts of 2 mV for the supply, and a signal without noise
    channels = (dataclasses.replace(SHUNT, scale=1e-3), dataclasses.replace(SUPPLY, scale=2e-3))
    gains = {
        "shunt": Correction(known(2, 0), known(0, 0), known(1e-4, 0), drift=known(0, 0)),
        "supply": EXACT.channels["supply"],
    }
    counts = Block(0, (np.full(1000, 100, np.int16), np.full(1000, 3400, np.int16)))
    found = figure(rig(*channels, record=dataclasses.replace(EXACT, channels=gains)), interval(0, 1), [counts])
    # Then with x = 0.2 V at the shunt and y = 6.8 V at the divider P = (x / 0.1 ohm) (3 y - x) = 40.4 W, and
    # by the shunt dP/dx = (3 y - 2 x) / 0.1 ohm = 200 W/V, gain 2: 200 * 2 * 0.001 / sqrt(12) = 0.11547 W,
    # by the supply dP/dy = 3 x / 0.1 ohm = 6 W/V: 6 * 0.002 / sqrt(12) = 0.0034641 W
    assert found.mean_w == pytest.approx(40.4)
    expected = {"quantisation of shunt": 0.11547, "quantisation of supply": 0.0034641}
    assert quantisation(found) == pytest.approx(expected, rel=1e-4)
    assert found.budget.standard_uncertainty >= 0.11552  # sqrt(0.11547^2 + 0.0034641^2)


def test_a_counter_is_rounded_at_both_ends() -> None:
    # Given a counter in steps of 1 mJ over 8 s
    counter = dataclasses.replace(ENERGY, scale=1e-3)
    found = figure(rig(counter, record=None), interval(1, 9), [Block(0, (np.arange(10_000, dtype=np.int64) * 25,))])
    # Then each end is off by 1 mJ / sqrt(12), both by sqrt(2) times as much: 0.40825 mJ, in 8 s 51.031 uW
    assert quantisation(found) == pytest.approx({"quantisation of package": 51.031e-6}, rel=1e-4)


def test_without_a_record_the_figure_says_what_is_not_in_it() -> None:
    found = figure(PLAIN, interval(0, 1), [watts()])
    assert any("gain and zero were not measured" in note for note in found.notes)
    assert not [line for line in found.budget.lines if line.name.startswith(("gain of", "zero of"))]


def test_sensitivities_are_the_derivatives() -> None:
    # Given a rig with every input of the budget, and each input moved a little
    rng = np.random.default_rng(5)
    block = Block(0, (rng.normal(13_000, 500, 2000).astype(np.int16), rng.normal(21_000, 50, 2000).astype(np.int16)))
    of = interval(0, 2)
    found = figure(rig(*CHANNELS, record=RECORD), of, [block])
    lines = {line.name: line for line in found.budget.lines}
    for name, changed in moved(RECORD, 1e-6).items():
        # When `measure` computes the power with it
        there = figure(rig(*CHANNELS, record=changed), of, [block]).mean_w
        # Then the power moves as the budget says
        assert (there - found.mean_w) / 1e-6 == pytest.approx(lines[name].sensitivity, rel=1e-4), name


def moved(record: Calibration, by: float) -> dict[str, Calibration]:
    """Return records that deviate in one input, by its line in a budget."""
    assert record.shunt_ohm
    assert record.divider
    made = {
        "shunt": dataclasses.replace(record, shunt_ohm=known(record.shunt_ohm.value + by, 1)),
        "divider": dataclasses.replace(record, divider=known(record.divider.value + by, 1)),
    }
    for name, each in record.channels.items():
        for part in ("gain", "zero"):
            other = known(getattr(each, part).value + by, 1)
            channels = {**record.channels, name: Correction(**{**vars(each), part: other})}
            made[f"{part} of {name}"] = dataclasses.replace(record, channels=channels)
    return made


def line(key: str, sensitivity: float, uncertainty: float, dof: float = math.inf) -> Contribution:
    return Contribution(key, key, Kind.A if dof < math.inf else Kind.B, sensitivity, uncertainty, "1", "a test", dof)


def test_effective_degrees_of_freedom_are_those_of_the_gums_example() -> None:
    # GUM H.1.6: parts of 25, 9.7, 2.9 and 16.6 nm with 18, 25.6, 50 and 2 degrees of freedom give 16.7, cut to 16
    budget = Budget((line("a", 1, 25, 18), line("b", 1, 9.7, 25.6), line("c", 1, 2.9, 50), line("d", 1, 16.6, 2)))
    assert budget.standard_uncertainty == pytest.approx(31.7, abs=0.1)
    assert int(budget.dof) == 16


def test_lines_of_one_key_are_one_error() -> None:
    assert budget_of([line("r", 3, 1), line("r", -3, 1)]).standard_uncertainty == 0
    assert budget_of([line("r", 3, 1), line("r", 1, 1)]).standard_uncertainty == 4
    assert sum_of([Budget((line("r", 3, 1),)), Budget((line("s", 4, 1),))]).standard_uncertainty == 5


def test_the_papers_improvement_is_one_minus_the_ratio() -> None:
    # Table A.1, Torcs: 39.46 W and 30.38 W are 23.02 % (rounded there from unrounded watts)
    block = Block(0, (np.repeat([39.46, 30.38], 5000),))
    reference, one = (figure(PLAIN, interval(*each), [block]) for each in ((0, 5), (5, 10)))
    found = improvement(one, reference)
    assert not isinstance(found, Refusal)
    assert found.value == pytest.approx(0.2302, abs=1e-4)


def test_no_power_has_no_ratio() -> None:
    block = Block(0, (np.repeat([0.0, 30.0], 5000),))
    none, some = (figure(PLAIN, interval(*each), [block]) for each in ((0, 5), (5, 10)))
    found = improvement(some, none)
    assert isinstance(found, Refusal)
    assert found.why is Why.NO_POWER
