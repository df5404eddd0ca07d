# SPDX-License-Identifier: GPL-2.0-or-later
"""A load that switches in time with the samples: how much filters let through, and which figures HAPPE refuses."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from given_truths import CHANNELS, RECORD, known, session
from happe_contract.measuring.energy import Figure, measure
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.rig import rig_of
from happe_contract.rig import Rig, channels_of
from happe_contract.traces import Block, Channel, Filter, Measures
from happe_power import calibration, sources
from happe_power.recording.header import Purpose, header_of

RATE_HZ = 50.0  # the noise of given_truths


def filtered(by: Filter | None) -> Rig:
    """Return a rig whose record states this filter for both channels."""
    channels = {name: dataclasses.replace(each, filter=by) for name, each in RECORD.channels.items()}
    made = rig_of(CHANNELS, dataclasses.replace(RECORD, channels=channels))
    assert isinstance(made, Rig)
    return made


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
    ],
)
def test_a_figure_is_refused_if_a_load_could_hide_from_the_samples(by: Filter | None, says: str) -> None:
    given = session(1)
    found = measure(filtered(by), given.interval, [given.block])
    assert isinstance(found, Refusal)
    assert found.why is Why.ALIASING
    assert says in found.detail


def test_what_a_filter_lets_through_and_its_delay_are_in_the_budget() -> None:
    given = session(1)
    found = measure(filtered(Filter("two RC", 1.0, 2)), given.interval, [given.block])
    assert isinstance(found, Figure)
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
    rig = rig_of(CHANNELS, dataclasses.replace(RECORD, channels=channels))
    assert isinstance(rig, Rig)
    found = measure(rig, given.interval, [given.block])
    assert isinstance(found, Figure)
    (line,) = (each for each in found.budget.lines if each.name == "aliasing of supply")
    assert line.standard_uncertainty == pytest.approx(0.05 / 3**0.5)
    assert line.source == "no filter is stated, for a ripple of 5 %"


def test_a_record_keeps_what_it_states_of_a_channel_as_a_file_and_in_a_header() -> None:
    stated = dataclasses.replace(
        RECORD.channels["shunt"],
        flicker=known(1e-6, 2e-7),
        drift=known(0, 3e-6),
        resolution=known(1e-5, 0),
        filter=Filter("1 kOhm, 10 uF", 16.0, 2, ripple=2e-3),
    )
    record = dataclasses.replace(RECORD, channels={"shunt": stated})
    assert calibration.parse(calibration.to_toml(record).encode(), "rig.toml").channels["shunt"] == stated


def test_bandwidth_and_resolution_of_a_source_are_in_its_traces_header() -> None:
    source = sources.make({"kind": "sim", "bandwidth": [160, 40], "poles": [2, 1], "resolution": [1e-6]})
    started = source.start(0)
    header = header_of(source, Purpose("a-study"), "2b1e5a52-0000-4000-8000-000000000000", started, "monotonic:x")
    made = channels_of(header)
    assert [(each.filter, each.resolution) for each in made] == [
        (Filter("bandwidth of the source", 160.0, 2), 1e-6),
        (Filter("bandwidth of the source", 40.0, 1), 1e-6),
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
        rig = rig_of([dataclasses.replace(channel, resolution=resolution)], None)
        assert isinstance(rig, Rig)
        found = measure(rig, given.interval, [Block(0, (watts,))])
        assert isinstance(found, Figure)
        (line,) = (each for each in found.budget.lines if each.name == "quantisation of power")
        return line.standard_uncertainty, line.source

    # Then the budget has the same figure, from the record's step and from the values' step
    stated, seen = line(0.02), line(None)
    assert stated[1] == "a step is 0.02 W"
    assert seen[0] == pytest.approx(stated[0])
    assert seen[1] == "they show a step of 0.02 W"
    assert stated[0] > 0.001
    # And values that never change do not tell the step
    rig = rig_of([channel], None)
    assert isinstance(rig, Rig)
    still = measure(rig, given.interval, [Block(0, (np.full(3000, 100 / 3),))])
    assert isinstance(still, Figure)
    assert any("nothing states its `resolution`" in note for note in still.notes)
