# SPDX-License-Identifier: GPL-2.0-or-later
"""After unblinding, a job of the server measures each run's power from the stored parts."""

import io
import json
from http import HTTPStatus
from typing import Any

import pytest
from sqlalchemy import select
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

import given_jobs
import given_power
import given_studies
import given_traces
from given_accounts import browser, post, token_of
from happe_contract.measuring.refusal import Limits
from happe_contract.measuring.runs import StudyRun, measured
from happe_contract.measuring.session import Session
from happe_study.model.audit.models import AuditEntry
from happe_study.model.documents import AnalysisDocument
from happe_study.model.jobs.models import JobState
from happe_study.model.rights import Role
from happe_study.model.traces import Trace, TracePart
from happe_study.study.measuring import stored
from happe_study.study.measuring.asking import Clocks
from happe_study.study.traces.parts import opened
from happe_study.study.traces.sealed import Seal
from happe_study.study.traces.storage import Folder, Part, Storage
from operated import Operated
from world import World

STUDY = "/studies/measured"
REPORT = f"{STUDY}/report"
HZ, BANDWIDTH_HZ = 200, 3.0


def measured_run(world: World, **given: Any) -> given_power.MeasuredRun:  # noqa: ANN401 - the type of measured_run
    """A run of 40 seconds. Its meter has a filter."""
    return given_power.measured_run(world, seconds=40, rate_hz=HZ, bandwidth_hz=BANDWIDTH_HZ, **given)


def measures(world: World) -> list[dict[str, Any]]:
    """The server's measures of the only study."""
    with world.database.reading() as session:
        content = session.scalars(select(AnalysisDocument.content)).one()
    found: list[dict[str, Any]] = json.loads(content)["measures"]
    return found


def actions(world: World) -> list[str]:
    """The audit log's actions about power."""
    with world.database.reading() as session:
        query = select(AuditEntry.action).where(AuditEntry.action.like("power.%")).order_by(AuditEntry.number)
        return list(session.scalars(query))


def test_unblinding_measures_each_run_and_nobody_can_before(world: World) -> None:
    # Given a measured run of a blinded study
    run = measured_run(world, unblinded=False)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    early = post(analyst, f"{REPORT}/power", page=STUDY)
    assert (early.status_code, "it reveals conditions" in early.text) == (HTTPStatus.CONFLICT, True)
    assert given_jobs.work_off(world) == []
    # When the study is unblinded
    given_studies.unblind(world)
    assert "The server is measuring power" in analyst.get(REPORT).text
    assert post(analyst, f"{REPORT}/power", page=STUDY).status_code == HTTPStatus.CONFLICT
    assert given_jobs.work_off(world) == [JobState.DONE]
    # Then the server has the run's watts with their uncertainty
    (found,) = measures(world)
    assert (found["run"], found["trace"]) == (run.code, run.trace)
    assert found["mean_w"] == pytest.approx(run.mean(0, run.seconds), abs=found["expanded_uncertainty"])
    assert found["to_us"] - found["from_us"] == run.seconds * 1e6
    assert found["seconds_w"][7] == pytest.approx(run.mean(7, 8), abs=0.5)
    assert "by the server" in analyst.get(REPORT).text
    # And a person can start measuring again
    assert post(analyst, f"{REPORT}/power", page=REPORT).status_code == HTTPStatus.SEE_OTHER
    assert given_jobs.work_off(world) == [JobState.DONE, JobState.DONE]
    assert measures(world) == [found]
    assert actions(world) == ["power.measured", "power.asked", "power.measured"]


def test_each_trace_of_a_study_is_measured(world: World) -> None:
    study = given_power.several(world, 4)
    given_studies.unblind(world, study.name)
    assert given_jobs.work_off(world) == [JobState.DONE]
    found = measures(world)
    assert len({each["trace"] for each in found}) == len(found) == 4
    assert [each["run"] for each in found] == sorted(each["run"] for each in found)


def test_only_parts_around_a_run_are_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a trace with parts of ten seconds, and a run from 6 s to 13 s
    run = measured_run(world, unblinded=False)
    given_studies.unblind(world)
    read: list[int] = []

    def noted(storage: Storage, part: Part, seal: Seal) -> object:
        read.append(seal.number)
        return opened(storage, part, seal)

    monkeypatch.setattr(stored, "opened", noted)
    monkeypatch.setattr(stored, "AROUND_S", 0)
    with world.database.reading() as session:
        row = session.scalars(select(Trace)).one()
        clock = Clocks(session).of(row.device_id, row.header["clock"], "meter")
        assert clock
        assert row.manifest
        seal, storage = given_traces.seal(world, run.trace, 0), Folder(world.config.traces_folder)
        digests = dict(session.execute(select(TracePart.number, TracePart.sha256)).all())
        trace = stored.StoredTrace(row.header, row.manifest, seal, storage, digests)
    begin_us, end_us = (given_power.SERVER_US + at * given_power.SECOND for at in (6, 13))
    asked = StudyRun("RANK0001", "RANK0002", begin_us, end_us)
    ready = trace.session(asked, clock)
    assert isinstance(ready, Session)
    found = measured(asked, ready, Limits()).document()
    assert found["mean_w"] == pytest.approx(run.mean(6, 13), abs=found["expanded_uncertainty"])
    assert set(read) == {1}


@pytest.mark.parametrize("how", ["damaged", "unsealed", "removed"])
def test_a_run_without_power_says_why(world: World, how: str) -> None:
    run = measured_run(world, unblinded=False, sealed=how != "unsealed")
    given_studies.unblind(world)
    part = given_traces.path_of(world, run.trace, 2)
    if how == "damaged":
        part.write_bytes(part.read_bytes()[:-9])
    elif how == "removed":
        part.unlink()
    assert given_jobs.work_off(world) == [JobState.DONE]
    (found,) = measures(world)
    said = {
        "damaged": "part 2 ",
        "removed": "part 2 can't be read: No such file",
        "unsealed": f"{run.trace}: its meter has not sent all of it",
    }
    assert found["refused"].startswith("no-samples: ")
    assert said[how] in found["refused"]


def test_an_upload_takes_the_place_of_what_is_being_measured(world: World) -> None:
    run = measured_run(world)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    document = {"format": "happe-power-measures/1", "measures": [{"run": run.code, "refused": "by hand"}]}
    file = FileStorage(io.BytesIO(json.dumps(document).encode()), "measures.json")
    boundary, body = encode_multipart({"csrf_token": token_of(analyst.get(REPORT)), "measures": file})
    sent = analyst.post(f"{REPORT}/measures", data=body, content_type=f"multipart/form-data; boundary={boundary}")
    assert sent.status_code == HTTPStatus.SEE_OTHER, sent.text
    assert given_jobs.work_off(world) == [JobState.CANCELLED]
    assert measures(world) == document["measures"]


def test_the_command_line_starts_measuring_again(operated: Operated) -> None:
    world = operated.world
    run = measured_run(world)
    assert given_jobs.work_off(world) == [JobState.DONE]
    asked = operated.done("study", "measure", "measured", "--json").json()
    assert [each["job"] for each in operated.done("job", "list", "--json").json()] == [asked["job"], 1]
    again = operated.run("study", "measure", "measured")
    assert (again.status, "already" in again.err) == (65, True)
    assert given_jobs.work_off(world) == [JobState.DONE, JobState.DONE]
    assert [each["run"] for each in measures(world)] == [run.code]
