# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of each link of the chain finds and names a mistake planted there; other checks stay silent.

The chain is real: the server's API, happe-power's traces and `happe-power measures`, the checks that researchers see.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from happe_study import migrations
from happe_study.base.codes import new_code
from happe_study.base.database import Database
from happe_study.evidence.checks.findings import Verdict
from happe_study.evidence.checks.services import check_study
from happe_study.evidence.documents.reading import measures_in
from happe_study.evidence.profiles.models import Uafp
from happe_study.evidence.profiles.summaries import refresh
from happe_study.evidence.traces.models import Trace
from happe_study.people.devices.models import ClockEstimate, Device
from happe_study.runs.course.models import Run, RunRecord
from happe_study.runs.records.stored import opened, stored
from measured_study import MeasuredStudy, honest, moved, record_toml
from world import fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from happe_study.evidence.checks.findings import Check

KEY = fixed_secrets().allocation
OFF_US = 2_000_000
Measures = list[dict[str, Any]]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MeasuredStudy]:
    """One for all tests, which work on copies."""
    template = tmp_path_factory.mktemp("template") / "server.db"
    database = Database(f"sqlite:///{template}")
    migrations.upgrade(database)
    database.dispose()
    with pytest.MonkeyPatch.context() as patch:
        made = honest(tmp_path_factory.mktemp("honest") / "", template, patch)
        yield made
        made.world.close()


@pytest.fixture(scope="module")
def measures(study: MeasuredStudy) -> Measures:
    """The runs' power, measured without mistakes."""
    return study.measures()


@pytest.fixture
def copy(study: MeasuredStudy, tmp_path: Path) -> Iterator[MeasuredStudy]:
    """The study, to plant a mistake in."""
    made = study.copy(tmp_path / "copy")
    yield made
    made.world.close()


def checks(made: MeasuredStudy, measures: Measures, *, deep: bool = False) -> dict[str, Check]:
    """Return what a researcher sees of each check."""
    raw = json.dumps({"format": "happe-power-measures/1", "measures": measures}).encode()
    with made.world.database.reading() as session:
        found = check_study(
            session,
            made.study(session),
            KEY,
            made.storage,
            measures=measures_in(raw, "measures.json"),
            deep=deep,
        )
    return {check.key: check for check in found}


def suspect(found: dict[str, Check]) -> dict[str, list[str]]:
    """Return the findings of the checks that found something, as a researcher reads them."""
    return {
        key: [f"{each.where}: {each.what}" for each in check.findings]
        for key, check in found.items()
        if check.verdict is not Verdict.OK
    }


def runs(made: MeasuredStudy) -> list[Run]:
    """The runs, in the order in which they were played."""
    with made.world.database.reading() as session:
        return list(session.scalars(select(Run).where(Run.state == "complete").order_by(Run.started_us)))


def device(made: MeasuredStudy, name: str) -> Device:
    """A device by its name."""
    with made.world.database.reading() as session:
        found: Device = session.scalars(select(Device).where(Device.name == name)).one()
        return found


def set_clock(made: MeasuredStudy, name: str, since_us: int = 0) -> None:
    """Let a device's estimates say, from a time of the server's on, that its clock is two seconds off."""
    late = ClockEstimate.device_id == device(made, name).id, ClockEstimate.server_us >= since_us
    with made.world.database.writing() as session:
        session.execute(update(ClockEstimate).where(*late).values(offset_us=ClockEstimate.offset_us + OFF_US))


def test_nothing_is_found_where_nothing_is_wrong(study: MeasuredStudy, measures: Measures) -> None:
    found = checks(study, measures, deep=True)
    assert suspect(found) == {}
    assert list(found) == ["clock", "conditions", "parts", "power", "doubles"]
    # And the checks looked at all the data
    assert "20 records against the server's times, the watts of" in found["clock"].looked_at
    assert found["conditions"].looked_at.startswith("20 records")
    assert found["parts"].looked_at.startswith("2 traces: every byte of their parts")
    assert found["power"].looked_at.startswith("20 runs of 2 rigs")
    assert found["doubles"].looked_at == "20 runs: places and times, 20 records, 20 measures of power"


def test_a_laptop_whose_clock_is_two_seconds_off(copy: MeasuredStudy, measures: Measures) -> None:
    set_clock(copy, "laptop 1")
    found = suspect(checks(copy, measures))
    assert list(found) == ["clock"]
    assert sum("laptop 1" in line and "after the server received its end" in line for line in found["clock"]) == 10
    assert not any("laptop 2" in line for line in found["clock"])


def test_a_laptop_whose_clock_steps_between_two_estimates(copy: MeasuredStudy, measures: Measures) -> None:
    middle = runs(copy)[5].started_us
    assert middle is not None
    set_clock(copy, "laptop 1", middle)
    found = suspect(checks(copy, measures))
    assert list(found) == ["clock"]
    assert "(laptop 1): its clock went +2.0 s between two estimates" in found["clock"][0]


def test_a_measuring_host_whose_clock_is_two_seconds_off(copy: MeasuredStudy) -> None:
    # Given that the clock is off already when `happe-power measures` runs
    set_clock(copy, "meter 2")
    found = suspect(checks(copy, copy.measures()))
    assert list(found) == ["clock"]
    mine = {run.code for run in runs(copy)[10:]}
    named = {line.split()[1].rstrip(":") for line in found["clock"]}
    assert len(named) >= 5
    assert named <= mine
    assert all("its watts come 2.0 s" in line for line in found["clock"])


def test_two_runs_whose_conditions_were_swapped(copy: MeasuredStudy, measures: Measures) -> None:
    mine = [run for run in runs(copy)[:10] if run.application == "torcs"]
    for one in mine:
        for other in mine:
            if one.code < other.code:
                _swap(copy, one, other)
                found = suspect(checks(copy, measures))
                assert list(found) == ["conditions"], (one.condition, other.condition)
                said = " ".join(found["conditions"])
                assert one.code in said or other.code in said
                _swap(copy, other, one)


def test_a_run_that_began_with_another_profile_than_training_left(copy: MeasuredStudy, measures: Measures) -> None:
    # Given a run that began with the levels of another participant
    one = next(run for run in runs(copy)[:10] if run.condition == "O-HAPPE")
    with copy.world.database.writing() as session:
        mine = select(Uafp).where(Uafp.run_id == one.id, Uafp.moment == "before")
        row = session.scalars(mine).one()
        row.khz = [800000] * 9 + [1200000]
        session.flush()
        refresh(session, copy.study(session).id, [one.participant_id])
    found = suspect(checks(copy, measures))
    assert list(found) == ["conditions"]
    assert any(line.startswith(f"run {one.code}: its profile: it began with another") for line in found["conditions"])


def _swap(made: MeasuredStudy, one: Run, other: Run) -> None:
    with made.world.database.writing() as session:
        first, second = (session.get_one(Run, run.id) for run in (one, other))
        first.condition, second.condition = second.condition, first.condition


@pytest.mark.parametrize(
    ("spoil", "deep", "said"),
    [
        (lambda part: part.unlink(), False, "part 2 is missing"),
        (lambda part: part.write_bytes(part.read_bytes()[:-9]), False, "part 2 is not what the meter sent"),
        (lambda part: part.write_bytes(part.read_bytes()[::-1]), True, "part 2 is not what the meter sent"),
    ],
    ids=["missing", "shorter", "changed"],
)
def test_a_part_of_a_trace_that_is_lost(
    copy: MeasuredStudy,
    measures: Measures,
    spoil: Callable[[Path], None],
    deep: bool,  # noqa: FBT001 - pytest gives it by name
    said: str,
) -> None:
    trace = measures[0]["trace"]
    (part,) = copy.storage.root.glob(f"??/{trace}/00002.sealed")
    spoil(part)
    found = suspect(checks(copy, measures, deep=deep))
    assert list(found) == ["parts"]
    assert found["parts"][0].startswith(f"trace {trace}: {said}")


def test_a_gap_over_a_run_and_runs_without_a_trace(copy: MeasuredStudy, measures: Measures) -> None:
    # Given a gap of a second inside of a run, and another trace that is gone
    with copy.world.database.writing() as session:
        one, gone = session.scalars(select(Trace).order_by(Trace.created_us))
        started = runs(copy)[3].started_us
        assert started is not None
        at = round((started - one.header["started"]["realtime_us"]) / 1e6 * one.header["rate_hz"]) + 500
        assert one.manifest is not None
        one.manifest = one.manifest | {"gaps": [{"from_index": at, "to_index": at + 100, "reason": "unplugged"}]}
        session.flush()
        session.delete(gone)
    found = suspect(checks(copy, measures))
    assert list(found) == ["parts"]
    lines = found["parts"]
    assert f"run {runs(copy)[3].code}: 1.00 s of it are a gap (unplugged) in trace" in " ".join(lines)
    assert sum("has no power trace" in line for line in lines) == 10


def test_a_wrong_shunt(copy: MeasuredStudy, measures: Measures) -> None:
    # Given that one rig's record has the resistance of another part, 0.125 for 0.1 ohm
    record = copy.folder / "wrong.toml"
    record.write_text(record_toml(0.125))
    mine = device(copy, "laptop 2").code
    wrong = [each for each in copy.measures("--calibration", record) if each["laptop"] == mine]
    mixed = [each for each in measures if each["laptop"] != mine] + wrong
    found = suspect(checks(copy, mixed))
    assert list(found) == ["power"]
    (line,) = found["power"]
    assert line.startswith("rig laptop 2 at meter 2, ")
    assert "measures 0.79" in line  # 0.8 = 0.1 / 0.125 of the right power
    assert "a wrong shunt, divider or gain" in line


def test_rigs_that_disagree(copy: MeasuredStudy, measures: Measures) -> None:
    # Given shunts that are off by less than the machine's model can tell, one low and one high
    mine = device(copy, "laptop 2").code
    apart = [each | {"mean_w": each["mean_w"] * (1.13 if each["laptop"] == mine else 0.88)} for each in measures]
    found = suspect(checks(copy, apart))
    assert list(found) == ["power"]
    assert len(found["power"]) == 2
    assert all("the median of all rigs is 0.998 times" in line for line in found["power"])


def test_a_record_that_was_sent_for_two_runs(copy: MeasuredStudy, measures: Measures) -> None:
    one, other = runs(copy)[2:4]
    with copy.world.database.writing() as session:
        record = session.scalars(select(RunRecord).where(RunRecord.run_id == one.id)).one()
        second = session.scalars(select(RunRecord).where(RunRecord.run_id == other.id)).one()
        document = json.loads(opened(KEY, one.code, record.document)) | {"run": other.code}
        raw = json.dumps(moved(document, document["started_us"] + 36_000_000, document["clock"])).encode()
        second.document = stored(KEY, other.code, raw, json.loads(raw)).document
    found = suspect(checks(copy, measures))
    assert list(found) == ["doubles"]
    (line,) = found["doubles"]
    assert line.endswith("have the same record, sample by sample")
    assert one.code in line
    assert other.code in line


def test_a_run_that_is_there_twice(copy: MeasuredStudy, measures: Measures) -> None:
    # Given a complete run that somebody planned again, and a measured copy of it
    one = runs(copy)[4]
    fields = {column.name: getattr(one, column.name) for column in Run.__table__.columns}
    again = Run(**fields | {"id": None, "code": new_code(), "attempt": 2})
    with copy.world.database.writing() as session:
        session.add(again)
        session.flush()
        record = session.scalars(select(RunRecord).where(RunRecord.run_id == one.id)).one()
        raw = opened(KEY, one.code, record.document)
        kept = stored(KEY, again.code, raw, json.loads(raw))
        fields = {"client_id": "11111111-2222-4333-8444-555555555555", "received_us": record.received_us}
        session.add(RunRecord(run_id=again.id, digest=kept.digest, document=kept.document, **fields))
    doubled = next(each for each in measures if each["run"] == one.code) | {"run": again.code}
    found = suspect(checks(copy, [*measures, doubled]))
    assert list(found) == ["doubles"]
    said = "\n".join(found["doubles"])
    assert f"are both the complete run {one.position} of participant" in said
    assert "at the same time for 3" in said
    assert "are counted as the power of both" in said
    assert "sample by sample" in said


def test_before_unblinding_no_record_and_no_watt_is_looked_at(study: MeasuredStudy, measures: Measures) -> None:
    raw = json.dumps({"format": "happe-power-measures/1", "measures": measures}).encode()
    with study.world.database.reading() as session:
        power = measures_in(raw, "measures.json")
        made = check_study(session, study.study(session), KEY, study.storage, measures=power, conditions=False)
        found = {each.key: each for each in made}
    assert {key: str(each.verdict) for key, each in found.items()} == {
        "clock": "ok",
        "conditions": "cannot tell",
        "parts": "ok",
        "power": "cannot tell",
        "doubles": "ok",
    }
    assert "record" not in found["doubles"].looked_at
