# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: sealed before unblinding, then with record and power on one time axis, to single samples."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete, update

import given_power
import given_studies
import given_traces
from callers import LIMITS
from given_power import MeasuredRun
from happe_study.model.devices import ClockEstimate
from happe_study.model.rights import Role
from happe_study.model.traces import Trace
from world import World


@dataclass(frozen=True)
class Given:
    """A server, a run on it, and a client who may see the run."""

    world: World
    run: MeasuredRun
    client: FlaskClient


MEAN = re.compile(r"mean of the part shown</dt><dd>([0-9.]+) W")
BOUND = re.compile(r"largest shift of this curve against the run</dt><dd>([0-9.]+) ms")
COVERAGE = re.compile(r"([0-9.]+) %</dd>")


def charts(text: str) -> dict[str, Any]:
    """The charts of a page, by key."""
    found = (json.loads(html.unescape(content)) for content in re.findall(r'data-chart="([^"]*)"', text))
    return {chart["key"]: chart for chart in found}


def number(pattern: re.Pattern[str], text: str) -> float:
    found = pattern.search(text)
    assert found
    return float(found[1])


@pytest.fixture(scope="module")
def measured(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """A server with an analyst and an unblinded run of a minute, which lacks half a second of power."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "server.db").write_bytes(sqlite_template.read_bytes())
    world = World(folder, f"sqlite:///{folder / 'server.db'}", limits=LIMITS)
    yield Given(world, given_power.measured_run(world, gap=(20.0, 20.5)), world.staff(Role.ANALYST))
    world.close()


def test_a_run_is_drawn_with_its_power_down_to_single_samples(measured: Given) -> None:
    run, client = measured.run, measured.client
    whole = client.get(run.path)
    assert whole.status_code == HTTPStatus.OK
    assert number(MEAN, whole.text) == pytest.approx(run.mean(0, 60), abs=0.002)
    assert number(COVERAGE, whole.text) == pytest.approx(100 * (1 - 0.5 / 60), abs=0.02)
    assert "1 stretch without samples, of 500" in whole.text
    for begin, end in ((10, 30), (41.5, 42.5), (7.0001, 7.0101)):
        text = client.get(f"{run.path}?from={begin}&to={end}").text
        assert number(MEAN, text) == pytest.approx(run.mean(begin, end), abs=0.02), (begin, end)
    assert "single samples" in text
    [samples] = charts(text)["power-1"]["series"]
    assert samples["name"] == "single samples"
    assert len(samples["values"]) in (102, 103), "with the end of the last one"
    assert "No samples." in client.get(f"{run.path}?from=20.1&to=20.2").text


@pytest.mark.parametrize("sealed", [True, False])
def test_after_a_restart_power_lies_where_it_was(world: World, *, sealed: bool) -> None:
    # Given a gap that lasted 40 ms longer than its lost samples
    run = given_power.measured_run(world, seconds=30, rate_hz=1000, gap=(9.5, 10.0), miscounted_us=40_000)
    if not sealed:
        with world.database.writing() as session:
            session.execute(update(Trace).values(manifest=None, sealed_us=None, seconds=None))
    client = world.staff(Role.ANALYST)
    # Then after the gap the spike of each full second comes 40 ms late
    for second, late in ((5, 0.0), (15, 0.04), (25, 0.04)):
        begin = second + late - 0.002
        text = client.get(f"{run.path}?from={begin:.4f}&to={begin + 0.004:.4f}").text
        power = charts(text)["power-1"]
        watts = dict(zip(power["at"], power["series"][0]["values"], strict=True))
        at = min(at for at, value in watts.items() if value is not None and 59 <= value < 61)
        assert at == pytest.approx(second + late, abs=0.0001)
        assert number(BOUND, text) < 7


def test_a_part_that_has_more_rows_than_its_length_allows_is_not_read(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000)
    many = np.zeros(10 * 2 * 1000 + 1001)
    header = {"id": run.trace, "rate_hz": 1000, "channels": [{"name": "shunt"}]}
    content = given_power.part(header, 0, 0, many, run.pair)
    assert len(content) < 4000
    given_traces.replace(world, run.trace, 0, content)
    text = world.staff(Role.ANALYST).get(run.path).text
    assert "part 0 has more rows than 10 s can have" in text


def test_each_key_press_is_drawn_and_said_to_have_counted_or_not(measured: Given) -> None:
    run = measured.run
    text = measured.client.get(run.path).text
    marks = charts(text)["frequency"]["marks"]
    presses = sum(len(line["keys"]) for line in run.record["observations"])
    assert sum(len(each["points"]) for each in marks) == presses > 0
    assert text.count("<td>yes</td>") == len(run.record["learned"])


def test_only_who_may_export_sees_what_was_recorded(measured: Given) -> None:
    world, run = measured.world, measured.run
    for client in (measured.client, world.staff(Role.INVESTIGATOR)):
        assert 'id="figure"' in client.get(run.path).text
    text = world.staff(Role.EXPERIMENTER).get(run.path).text
    assert ('id="figure"' in text, "Only people who analyse the study" in text) == (False, True)


@pytest.mark.parametrize("outcomes", [False, True])
def test_the_protocol_decides_whether_reviewers_see_how_a_run_went(world: World, *, outcomes: bool) -> None:
    more = "[review]\noutcomes = true\n" if outcomes else ""
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, more=more, unblinded=False)
    reviewer = world.staff(Role.REVIEWER)
    for path in (run.path, f"{run.path.rpartition('/')[0]}/00000000"):
        sealed = reviewer.get(path).text
        assert "Not before the study is unblinded" in sealed
        assert run.code not in sealed.replace(path, "")
    given_studies.unblind(world)
    text = reviewer.get(run.path).text
    assert 'id="figure"' in text
    assert f"/studies/{run.study}/participants" not in text
    assert [bool(MEAN.search(text)), bool(re.search(r"<dt>Rated</dt><dd>.*: (<a [^>]*>)?[1-5]<", text))] == [
        outcomes
    ] * 2
    assert ("<dt>Guess</dt>" in text, "does not show power" in text) == (outcomes, not outcomes)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=x", "from"),
        ("from=-1", "from"),
        ("to=61", "to"),
        ("to=nan", "to"),
        ("from=inf", "from"),
        ("from=30&to=30", "to"),
        ("from=40&to=30", "to"),
        ("from=1&to=1.00001", "to"),
    ],
)
def test_a_part_that_is_none_is_refused_beside_its_field(measured: Given, query: str, field: str) -> None:
    answer = measured.client.get(f"{measured.run.path}?{query}")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert f'id="{field}-error"' in answer.text
    assert "The whole run" in answer.text


def test_before_unblinding_a_run_shows_neither_record_nor_power(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    for role in (Role.INVESTIGATOR, Role.ANALYST, Role.EXPERIMENTER):
        text = world.staff(role).get(run.path).text
        assert "is sealed" in text
        assert not re.search(r"data-chart|figure-title|T-HAPPE| W</dd>|Key presses", text)


def test_parts_that_are_damaged_are_named_and_leave_a_gap(world: World) -> None:
    run = given_power.measured_run(world, seconds=30, rate_hz=1000)
    parts = sorted(world.config.traces_folder.glob("??/*/*.sealed"))
    parts[1].write_bytes(parts[1].read_bytes()[:-100] + b"x" * 100)
    parts[2].write_bytes(parts[3].read_bytes())
    client = world.staff(Role.ANALYST)
    text = client.get(run.path).text
    for damaged in (1, 2):
        assert f"part {damaged} does not open: of another key, trace or number, damaged, or cut short" in text
    assert number(COVERAGE, text) == pytest.approx(100 * (1 - 20 / 30), abs=0.1)
    for path in parts:
        path.write_bytes(b"PAR1")
    assert "be read: part 0" in client.get(run.path).text


def test_power_is_placed_by_clocks_that_were_compared_and_by_no_others(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000)
    client = world.staff(Role.ANALYST)
    meters = ClockEstimate.clock.endswith(given_power.METER_BOOT)
    for hours in (1, -2):  # put the trace an hour later, then an hour earlier
        with world.database.writing() as session:
            offset = ClockEstimate.offset_us + hours * 3_600_000_000
            session.execute(update(ClockEstimate).where(meters).values(offset_us=offset))
        assert "No meter recorded this laptop" in client.get(run.path).text
    with world.database.writing() as session:
        session.execute(
            update(ClockEstimate).where(meters, ClockEstimate.device_us > given_power.METER_US).values(offset_us=0)
        )
    assert "a clock was set between them" in client.get(run.path).text
    with world.database.writing() as session:
        session.execute(delete(ClockEstimate).where(meters))
    text = client.get(run.path).text
    assert "the meter&#39;s clock was never compared with the server&#39;s" in text
    assert MEAN.search(text) is None


def test_a_trace_without_a_calibration_says_so(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, calibrated=False)
    text = world.staff(Role.ANALYST).get(run.path).text
    assert "the accuracy of these watts is unknown" in text
    assert number(MEAN, text) == pytest.approx(run.mean(0, 10), abs=0.2)
