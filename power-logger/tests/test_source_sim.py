# SPDX-License-Identifier: GPL-2.0-or-later
"""The simulated T61: its truth, and every error on request."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from happe_contract.traces import Gap, Reason
from happe_power import marker, sources
from happe_power.source_kit import Taken, check_source, take
from happe_power.sources import t61
from happe_power.sources.clock import SystemClock, VirtualClock
from happe_power.sources.sim import Rig, Sim
from happe_power.sources.source import SourceError

GOOD_RECORD = Path(__file__).parents[2] / "study-server/tests/data/good_uploads.json"


def unpaced(rig: Rig) -> Sim:
    """Return a source that is as fast as its reader."""
    return Sim(rig, VirtualClock(), paced=False)


def watts_of(source: Sim, taken: Taken, shunt_ohm: float = 0.1, divider: float = 4.0) -> np.ndarray[Any, Any]:
    """Return the watts by a perfect calibration."""
    shunt, supply = (taken.column(c) * source.channels[c].scale + source.channels[c].offset for c in range(2))
    watts: np.ndarray[Any, Any] = shunt / shunt_ohm * supply * divider
    return watts


def test_watts_are_those_of_table_a2_to_half_a_count() -> None:
    for khz, utilisation, watts in ((800_000, 0.0, 24.40), (2_300_000, 1.0, 45.04), (2_200_000, 0.35, 32.34)):
        source = unpaced(Rig(t61.constant(khz, utilisation), 1000.0))
        count_w = 20 / 0.1 * source.channels[0].scale
        assert watts_of(source, take(source, 2)).mean() == pytest.approx(watts, abs=count_w)
        assert source.truth_watts(0, 500) == pytest.approx(watts)


def test_noise_and_drift_are_as_ordered() -> None:
    source = unpaced(Rig(t61.constant(800_000, 0.0), 1_000.0, noise=0.002, drift=0.01))
    taken = take(source, 60, timeout_s=60.0)  # an hour in minutes
    shunt = taken.column(0) * source.channels[0].scale
    minutes = shunt.reshape(60, -1)
    assert minutes.std(axis=1).mean() == pytest.approx(0.002 * 0.5, rel=0.01)
    drift = np.polyfit(np.arange(60) / 60, minutes.mean(axis=1), 1)[0]
    assert drift == pytest.approx(0.01 * 0.5, rel=0.01)


def test_samples_do_not_depend_on_how_they_are_read_and_do_on_the_seed() -> None:
    def columns(seed: int, reads: int, timeout_s: float) -> list[list[int]]:
        taken = take(unpaced(Rig(t61.constant(800_000, 0.0), 1000.0, noise=0.01, seed=seed)), reads, timeout_s)
        return [taken.column(channel).tolist() for channel in range(2)]

    assert columns(1, 10, 0.1) == columns(1, 1, 1.0) == columns(1, 4, 0.25)
    assert columns(2, 1, 1.0) != columns(1, 1, 1.0)


def test_what_is_dropped_is_a_gap_of_exactly_that_and_no_other_sample_changes() -> None:
    whole = take(unpaced(Rig(t61.constant(800_000, 0.0), 1000.0, noise=0.01)), 10)
    rig = Rig(
        t61.constant(800_000, 0.0),
        1000.0,
        noise=0.01,
        drops=tuple(Gap(*each, Reason.OVERFLOW) for each in ((0, 5), (150, 430), (600, 601))),
    )
    taken = check_source(Sim(rig, clock := VirtualClock(), paced=False), clock, 10)
    assert sum(gap.to_index - gap.from_index for gap in taken.gaps) == 5 + 280 + 1
    assert {gap.reason for gap in taken.gaps} == {Reason.OVERFLOW}
    for block in taken.blocks:
        assert (block.columns[0] == whole.column(0)[block.first_index : block.end_index]).all()


def test_its_clock_is_off_by_what_was_ordered() -> None:
    taken = take(unpaced(Rig(t61.constant(800_000, 0.0), 1000.0, rate_ppm=100.0)), 100, timeout_s=10.0)
    last = taken.pairs[-1]
    assert last.index == 1_000_000
    passed_us = last.monotonic_us - taken.began.monotonic_us
    assert passed_us == round(1_000_000_000 / 1.0001)


def test_paced_it_keeps_to_the_real_clock() -> None:
    clock = SystemClock()
    source = Sim(Rig(t61.constant(800_000, 0.0), 20_000.0), clock, paced=True)
    taken = take(source, 5)
    before_us = clock.now().monotonic_us
    taken.add(source.read(0.2))
    after_us = clock.now().monotonic_us
    assert before_us <= taken.began.monotonic_us + taken.end_index * 50 <= after_us
    assert not source.patient


@pytest.fixture
def record() -> dict[str, Any]:
    """A run record that the study server takes."""
    good: dict[str, Any] = json.loads(GOOD_RECORD.read_text())["run-record"]
    return good


def test_it_follows_a_run_record_period_by_period(tmp_path: Path, record: dict[str, Any]) -> None:
    path = tmp_path / "torcs.json"
    path.write_text(json.dumps(record))
    source = sources.make({"kind": "sim", "place": f"{path}", "rate": 1000, "noise": 0, "pace": "none"})
    assert isinstance(source, Sim)
    table = t61.table_a2()
    began = record["started_us"]
    from_us, expected = 0, 0.0
    for observation in record["observations"]:
        to_us = observation["t_us"] - began
        for policy in observation["policies"][:1]:  # the last entry has no frequency, so it stays
            expected = table.at(policy["cur_khz"], policy["util_ppm"][0] / 1e6)
        assert source.truth_watts(from_us // 1000 + 1, to_us // 1000 - 1) == pytest.approx(expected)
        from_us = to_us
    assert from_us > 0


def test_a_record_without_frequencies_is_told_where(record: dict[str, Any]) -> None:
    del record["observations"][0]["policies"][0]["cur_khz"]
    with pytest.raises(SourceError, match=r"torcs\.json: observations\[0\] has no cur_khz"):
        t61.run_record(json.dumps(record).encode(), "torcs.json")


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"\xff", b'{"format":"happe-run/1"}', b"[" * 100_000])
def test_what_is_no_run_record_is_told(raw: bytes) -> None:
    with pytest.raises(SourceError, match="x is no run record: ") as raised:
        t61.run_record(raw, "x")
    assert len(str(raised.value)) <= 400


def test_it_follows_a_script(tmp_path: Path) -> None:
    script = tmp_path / "loads.csv"
    script.write_text("seconds,khz,utilisation\n0,800000,0\n1.5,2300000,1\n")
    source = sources.make({"kind": "sim", "place": f"{script}", "rate": 1000, "pace": "none"})
    assert isinstance(source, Sim)
    assert source.truth_watts(0, 1500) == pytest.approx(24.40)
    assert source.truth_watts(1000, 2000) == pytest.approx((24.40 + 45.04) / 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s:1: a script of loads begins with the line seconds,khz,utilisation"),
        ("seconds,khz,utilisation\n", "s has no line after the first"),
        ("seconds,khz,utilisation\n1,800000,0\n", "s:2: seconds must begin with 0 and ascend"),
        ("seconds,khz,utilisation\n0,800000,0\n0,800000,0\n", "s:3: seconds must begin with 0"),
        ("seconds,khz,utilisation\n0,800000\n", "s:2: '0,800000' is not seconds,khz,utilisation"),
        ("seconds,khz,utilisation\n0,800000,nan\n", "s:2: seconds must be 0 or more"),
        ("seconds,khz,utilisation\n0,800000,1.5\n", "utilisation from 0 to 1"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        t61.script(text.encode(), "s")


def test_the_marker_is_played_where_it_was_ordered() -> None:
    load = {"khz": 1200000, "utilisation": 0.5, "marker": [2, 60]}
    source = sources.make({"kind": "sim", "rate": 1000, "noise": 0, "pace": "none"} | load)
    assert isinstance(source, Sim)
    watts = watts_of(source, take(source, 1, timeout_s=90.0))
    chips = np.repeat(marker.chips(), 200)
    for second in (2, 60):
        played = watts[second * 1000 : second * 1000 + len(chips)]
        assert played[chips].min() > 44
        assert played[~chips].max() < 25
    assert watts[1_990] == watts[50_000] == watts[89_000] == pytest.approx(27.40, abs=0.05)
