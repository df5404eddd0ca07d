# SPDX-License-Identifier: GPL-2.0-or-later
"""The analyst's pages: a report's documents, the job that makes it, and its files."""

import fcntl
import io
import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update
from werkzeug.datastructures import FileStorage
from werkzeug.test import TestResponse, encode_multipart

import given_devices
import given_jobs
import given_participants as people
import given_reports
import given_studies
import records
from given_accounts import browser, post, token_of
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.documents import AnalysisDocument, DocumentKind
from happe_study.model.jobs.models import Job
from happe_study.model.participants import Participant
from happe_study.model.results import FilePiece
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study import documents
from happe_study.study.documents import Measure, measures_in
from operated import Operated
from world import World, sqlite_copy

pytestmark = pytest.mark.slow

PAGE, CHECKS = "/studies/finished/report", "/studies/finished/checks"


class Lab:
    """A study with a report, and its analyst."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.study: Study = given_reports.finished(world)
        self.analyst = browser(world, Role.ANALYST, email="analyst@example.org")


@pytest.fixture(scope="module")
def lab(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab for all tests that need a report, because making one takes seconds."""
    folder = tmp_path_factory.mktemp("reports")
    made = Lab(World(folder, sqlite_copy(sqlite_template, folder)))
    power = given_reports.measures(made.world)
    upload(made.analyst, power + b"\n")
    send(made.analyst, PAGE)
    upload(made.analyst, power)  # the report is not made yet
    assert given_jobs.work_off(made.world) == ["done"]
    yield made
    made.world.close()


def send(client: FlaskClient, path: str, **fields: object) -> TestResponse:
    """Send a form of the report's page."""
    return client.post(path, data={"csrf_token": token_of(client.get(PAGE)), **fields})


def upload(client: FlaskClient, raw: bytes, what: str = "measures") -> TestResponse:
    """Upload a document. Encode it here, because the client leaves a temporary file open for a long one."""
    file = FileStorage(io.BytesIO(raw), f"{what}.json")
    boundary, body = encode_multipart({"csrf_token": token_of(client.get(PAGE)), what: file})
    return client.post(f"{PAGE}/{what}", data=body, content_type=f"multipart/form-data; boundary={boundary}")


def actions(world: World, *wanted: str) -> list[tuple[str, dict[str, object]]]:
    """The audit log's entries of these actions, by default those about reports."""
    with world.database.reading() as session:
        rows = session.execute(
            select(AuditEntry.action, AuditDetail.detail)
            .join(AuditDetail, AuditDetail.number == AuditEntry.number)
            .order_by(AuditEntry.number)
        )
        begins = wanted or ("report.", "analysis.")
        return [(action, detail) for action, detail in rows if action.startswith(begins)]


def test_a_report_is_made_beside_the_server_and_shown(lab: Lab) -> None:
    overview = lab.analyst.get(PAGE).text
    assert f'<a href="{PAGE}/1">Report 1</a>' in overview
    assert "analyst@example.org" in overview
    page = lab.analyst.get(f"{PAGE}/1").text
    # Then the page has the paper's tables, their sources, and the command that makes them again
    assert "Table A.1" in page
    assert "confirmatory" in page
    assert "calibration rig of 2026-10-01" in page
    assert "Instrument: bench meter 7 (bench_meter)" in page
    assert "as it was locked, SHA-256" in page
    assert "happe-server analyse export --power measures.json --out report" in page
    assert 'style="' not in page
    # And all its links work
    for link in set(re.findall(rf'(?:href|src)="({PAGE}/1/[^"]+)"', page)):
        answer = lab.analyst.get(link)
        assert answer.status_code == HTTPStatus.OK, link
        assert answer.data
    pictures = re.findall(r'src="([^"]+\.svg)"', page)
    assert pictures
    assert lab.analyst.get(pictures[0]).content_type.startswith("image/svg+xml")
    results = json.loads(lab.analyst.get(f"{PAGE}/1/results.json").data)
    assert (results["format"], results["study"]) == ("happe-analysis/1", "finished")
    lacked, _, why = results["warnings"][0].partition(" The custodian's reason to unblind it all the same: ")
    assert (why, lacked.startswith("Deviation: ")) == ("A test is short.", True)
    assert lacked.endswith("Nobody has checked the data since the last run was completed.")
    for nothing in ("page.json", "none", "../1/results.json"):
        assert lab.analyst.get(f"{PAGE}/1/{nothing}").status_code == HTTPStatus.NOT_FOUND
    assert lab.analyst.get(f"{PAGE}/2").status_code == HTTPStatus.NOT_FOUND


def test_the_log_says_who_made_a_report_of_what(lab: Lab) -> None:
    (first, old), (second, report), (third, new), (fourth, made) = actions(lab.world)
    assert (first, second) == (third, "report.begun") == ("analysis.uploaded", "report.begun")
    assert old["by"] == report["by"] == "staff:analyst@example.org"
    assert (report["study"], report["report"]) == ("finished", 1)
    assert (fourth, made["study"], made["report"]) == ("report.made", "finished", 1)
    assert (made["power"], made["machine"]) == (new["sha256"], None)
    assert json.loads(lab.analyst.get(f"{PAGE}/1/measures.json").text)


def test_one_report_of_a_study_is_made_at_a_time(world: World) -> None:
    given_reports.being_made(world, given_reports.finished(world, participants=1))
    analyst = browser(world, Role.ANALYST)
    answer = send(analyst, PAGE)
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "The server is making a report of this study" in answer.text
    assert "Step 4 of 20: exporting records" in analyst.get(PAGE).text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"{", "is no JSON at line 1"),
        (b'{"format": "happe-power-measures/1"}', "lacks &#34;measures&#34;"),
        (b'{"format": "happe-power-measures/1", "measures": [{"run": "x"}]}', "/measures/0"),
        (b"\xff", "The file was not accepted."),
        (b"[" * 300 + b"]" * 300, "is nested deeper than 64"),
    ],
)
def test_a_document_that_is_wrong_changes_nothing_and_is_explained(lab: Lab, raw: bytes, said: str) -> None:
    before = lab.analyst.get(PAGE).text.count("<code>")
    answer = upload(lab.analyst, raw)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert said in answer.text
    assert 'id="measures-error"' in answer.text
    assert lab.analyst.get(PAGE).text.count("<code>") == before
    assert "Choose a file." in send(lab.analyst, f"{PAGE}/machine").text


def test_a_long_document_is_read_while_others_write_and_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST)
    raw = given_reports.measures(world) + b" " * (2 << 20)
    read: list[str] = []

    def counted(raw: bytes, file: str) -> dict[str, Measure]:
        with Path(f"{world.database.url.database}-writers").open("ab") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
        read.append(file)
        return measures_in(raw, file)

    monkeypatch.setitem(documents.READERS, DocumentKind.MEASURES, counted)
    monkeypatch.setattr(documents, "measures_in", counted)
    assert upload(analyst, raw).status_code == HTTPStatus.SEE_OTHER
    for _ in range(2):
        assert "measured, 0 refused" in analyst.get(PAGE).text
    assert read == ["", "measures.json"]
    # And a document that is too long gets an error beside its field
    assert "The file is longer than 1 MiB." in upload(analyst, b" " * ((1 << 20) + 1), "machine").text
    monkeypatch.setattr(documents, "MOST_VALUES", 10)
    assert "The file was not accepted. has more than 10 values" in upload(analyst, raw).text


def test_before_unblinding_there_is_what_will_be_and_nothing_else(world: World) -> None:
    given_reports.finished(world, participants=1, unblinded=False)
    analyst = browser(world, Role.ANALYST)
    page = analyst.get(PAGE).text
    assert "Not before the study is unblinded" in page
    assert "<dt>Margin</dt><dd>0.25 points of the rating</dd>" in page
    token = {"csrf_token": token_of(analyst.get("/studies"))}
    assert analyst.post(PAGE, data=token).status_code == HTTPStatus.CONFLICT
    form = token | {"measures": (io.BytesIO(b"{}"), "measures.json")}
    assert analyst.post(f"{PAGE}/measures", data=form).status_code == HTTPStatus.CONFLICT
    assert analyst.get(f"{PAGE}/1").status_code == HTTPStatus.NOT_FOUND


def test_checks_before_unblinding_look_at_nothing_that_tells_a_condition(world: World) -> None:
    given_reports.finished(world, participants=1, unblinded=False)
    for role in (Role.EXPERIMENTER, Role.ANALYST):
        page = checked(world, browser(world, role, email=f"{role}@example.org"))
        assert page.count("it would reveal conditions") == 2
        assert "T-HAPPE" not in page


def checked(world: World, client: FlaskClient) -> str:
    """The page of checks, after a job has made them for this reader."""
    post(client, CHECKS)
    assert set(given_jobs.work_off(world)) == {"done"}
    return client.get(CHECKS).text


def test_after_unblinding_checks_are_for_who_may_export(lab: Lab) -> None:
    assert "Check now" in lab.analyst.get(CHECKS).text
    page = checked(lab.world, lab.analyst)
    assert "40 records" in page
    assert 'href="#clock"' in page
    assert 'id="clock"' in page
    assert "Finds a clock that is off by a second or more" in page
    other = browser(lab.world, Role.EXPERIMENTER, email="experimenter@example.org")
    assert "Looked at" not in other.get(CHECKS).text
    assert "40 records" not in checked(lab.world, other)
    # And the server makes one check at a time
    post(other, CHECKS)
    assert "The server is checking the study" in other.get(CHECKS).text
    assert post(other, CHECKS).status_code == HTTPStatus.CONFLICT


def test_a_check_of_many_findings_shows_the_first_and_counts_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_reports.finished(world, participants=1)
    with world.database.writing() as session:
        session.execute(update(Run).where(Run.condition == "ondemand").values(condition="O-HAPPE"))
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    page = checked(world, analyst)
    every = page.count('<th scope="row">run ')
    assert every > 3
    assert "lists all" not in page
    monkeypatch.setattr("happe_study.study.checks.services.MOST", 3)
    page = checked(world, analyst)
    assert page.count('<th scope="row">run ') == 3
    assert f"found {every - 3} more" in page


def test_who_withdraws_is_in_no_report_any_more(world: World) -> None:
    study = given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    upload(analyst, given_reports.measures(world))
    assert "10 records" in checked(world, analyst)
    given_reports.being_made(world, study)
    with world.database.writing() as session:
        session.add(FilePiece(job_id=2, name="results.json", at=0, content=b"{}"))
        code = session.scalars(select(Participant.code)).one()
    experimenter = browser(world, Role.EXPERIMENTER, email="experimenter@example.org")
    post(experimenter, f"/studies/finished/participants/{code}/withdraw", confirm=code)
    with world.database.reading() as session:
        for model in (FilePiece, AnalysisDocument, Job):
            assert session.scalars(select(model)).all() == []
    assert "0 records" in checked(world, analyst)


def test_a_study_of_which_no_run_counts_makes_no_report_and_says_why(world: World) -> None:
    study = given_reports.finished(world, participants=0, unblinded=False)
    people.participant(world, study)
    given_studies.unblind(world)
    analyst = browser(world, Role.ANALYST)
    send(analyst, PAGE)
    assert given_jobs.work_off(world) == ["failed"]
    assert "it has no complete run" in analyst.get(PAGE).text


def test_verify_says_on_the_command_line_what_the_page_says(operated: Operated) -> None:
    given_reports.finished(operated.world, participants=1)
    said = operated.done("study", "verify", "finished").out
    first, second = said.splitlines()[:2]
    assert first.startswith("Clocks: cannot tell. Looked at 0 clock estimates of 0 clocks, 0 records against")
    assert second == "  No device has compared its clock with the server's."
    # When there is power, and a run has the wrong condition
    power = operated.file.with_name("measures.json")
    power.write_bytes(given_reports.measures(operated.world, mean_w=90.0))
    with operated.world.database.writing() as session:
        run = session.scalars(select(Run).where(Run.condition == "ondemand")).first()
        assert run is not None
        run.condition = "O-HAPPE"
    ran = operated.run("study", "verify", "finished", "--power", power, "--json")
    verdicts = {check["check"]: check["verdict"] for check in ran.json()["checks"]}
    assert ran.status == 1
    assert verdicts == {
        "clock": "cannot tell",
        "conditions": "suspect",
        "parts": "cannot tell",
        "power": "suspect",
        "doubles": "ok",
    }
    power.write_text("{}")
    wrong = operated.run("study", "verify", "finished", "--power", power)
    assert (wrong.status, f"{power}: " in wrong.err) == (65, True)


def test_traces_come_after_unblinding_whole_and_once(operated: Operated, tmp_path: Path) -> None:
    world, out = operated.world, tmp_path / "traces"
    study = given_reports.finished(world, participants=1, unblinded=False)
    refused = operated.run("study", "traces", "finished", "--out", out)
    assert (refused.status, list(out.iterdir())) == (77, [])
    laptop, meter = given_devices.device(world, study), given_devices.device(world, study, "meter")
    traces = [_sealed(world, study, meter, laptop) for _ in range(2)]
    given_studies.unblind(world)
    # Given a lost part of the second trace
    (lost,) = (operated.data / "traces").glob(f"??/{traces[1]}/00001-*.sealed")
    lost.unlink()
    ran = operated.run("study", "traces", "finished", "--out", out)
    assert ran.status == 1
    assert f"{out / traces[1]}: part 1 is missing; the trace was not written" in ran.err
    assert [path.name for path in out.iterdir()] == [traces[0]]
    # Then the other trace equals the meter's, and the next download skips it
    assert json.loads((out / traces[0] / "header.json").read_text())["id"] == traces[0]
    assert (out / traces[0] / "parts/000002.parquet").read_bytes() == records.part(2)
    again = operated.run("study", "traces", "finished", "--out", out, "--json").json()
    assert {each["trace"]: each["there"] for each in again} == {traces[0]: True, traces[1]: False}
    assert [detail["table"] for _, detail in actions(world, "study.exported")] == ["power-traces"] * 2


def test_a_trace_that_was_downloaded_before_its_seal_is_fetched_anew(operated: Operated, tmp_path: Path) -> None:
    world, out = operated.world, tmp_path / "traces"
    study = given_reports.finished(world, participants=1)
    laptop, meter = given_devices.device(world, study), given_devices.device(world, study, "meter")
    trace = _begun(world, study, meter, laptop, parts=2)
    folder = out / trace
    # When somebody downloads the trace before its last part arrives
    early = operated.done("study", "traces", "finished", "--out", out)
    assert "not sealed" in early.out
    assert not (folder / "manifest.json").exists()
    given_devices.put_part(world.client(meter.token), trace, 2, records.part(2))
    sealed = given_devices.put_seal(world.client(meter.token), records.power_manifest(3, trace=trace))
    assert sealed.status_code == HTTPStatus.OK
    # Then the next download does not delete other files in the folder
    (folder / "zeros.json").touch()
    kept = operated.run("study", "traces", "finished", "--out", out)
    assert (kept.status, (folder / "zeros.json").exists()) == (1, True)
    assert "has files that downloads never write (zeros.json): move it away; the trace was not written" in kept.err
    (folder / "zeros.json").unlink()
    # And it fetches the whole trace once, when that is sealed
    (late,) = operated.run("study", "traces", "finished", "--out", out, "--json").json()
    assert (late["there"], late["sealed"], late["parts"]) == (False, True, 3)
    assert json.loads((folder / "manifest.json").read_text())["count"] == 3
    assert (folder / "parts/000002.parquet").read_bytes() == records.part(2)
    assert [path.name for path in out.iterdir()] == [trace]
    assert "was there" in operated.done("study", "traces", "finished", "--out", out).out


def _sealed(world: World, study: Study, meter: given_devices.Enrolled, laptop: given_devices.Enrolled) -> str:
    trace = _begun(world, study, meter, laptop, parts=3)
    manifest = records.power_manifest(3, trace=trace)
    assert given_devices.put_seal(world.client(meter.token), manifest).status_code == HTTPStatus.OK
    return trace


def _begun(
    world: World, study: Study, meter: given_devices.Enrolled, laptop: given_devices.Enrolled, *, parts: int
) -> str:
    client, document = world.client(meter.token), given_devices.header(study, meter, laptop)
    trace: str = document["id"]
    given_devices.put_trace(client, document)
    for number in range(parts):
        given_devices.put_part(client, trace, number, records.part(number))
    return trace
