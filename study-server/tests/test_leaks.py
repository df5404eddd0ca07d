# SPDX-License-Identifier: GPL-2.0-or-later
"""Before unblinding, no answer to anybody depends on the allocation, or names a condition."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from itertools import product
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from structlog.testing import capture_logs
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

import given_studies
from given_jobs import work_off
from happe_study.base.tables import Format
from happe_study.model.jobs.models import Job
from happe_study.model.results import FilePiece
from happe_study.model.rights import Right, Role, roles_with
from happe_study.model.runs import Run
from happe_study.results.exports import services as exports
from happe_study.results.exports.job import EXPORT
from leaks import LABELS, SOME_DIFFER, Server, clients, masked, person_codes, run_codes, same_chances, server

pytestmark = pytest.mark.slow

# Pages that are the same on every server, and may name conditions: the API's description, shipped protocols, and texts
# that follow only from a protocol.
PUBLIC = {"openapi.spec", "study_pages.new_study_form", "study_pages.preregistration"}
# Routes with no page in this history: they redirect, or ask the password of somebody signed in by a browser.
ELSEWHERE = {
    "overview_pages.start",
    "participant_pages.start",
    "planning_pages.download",  # its job reads only the protocol, which has no section [analysis] here
    "run_pages.back",
    "security.verify",
    "security.change_password",
}
BLINDED = {
    "profiles.list_profiles",
    "profiles.read_profile",
    "report_pages.made",
    "report_pages.download",
}  # these have no content before unblinding
FILES = {"static", "security.static"}  # files of the package, which know no study; the test leaves them out
RUNS_ASKED_FOR = 12
REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
REFUSALS = 3  # the first run has the same condition on both servers, the next two have not

Pair = tuple["Server", "Server"]
Asked = tuple[str, str, "TestResponse"]


@pytest.fixture
def logs(caplog: pytest.LogCaptureFixture) -> Iterator[Sequence[object]]:
    """All log entries from the first request on."""
    caplog.set_level(logging.INFO)
    with capture_logs() as entries:
        yield entries


@pytest.fixture
def pair(
    tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch, logs: Sequence[object]
) -> Iterator[Pair]:
    """Two servers with the same history under different allocations."""
    assert logs == []
    made = []
    for name, seed in SOME_DIFFER:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "server.db").write_bytes(sqlite_template.read_bytes())
        same_chances(monkeypatch, 1)
        made.append(server(folder, f"sqlite:///{folder / 'server.db'}", seed))
    yield made[0], made[1]
    for each in made:
        each.world.close()


def addresses(app: Flask, made: Server) -> Iterator[tuple[str, str]]:
    """Every address for GET with its endpoint, for all runs, people and devices."""
    people, played = person_codes(made), run_codes(made)[:RUNS_ASKED_FOR]
    for rule in sorted(app.url_map.iter_rules(), key=lambda each: each.rule):
        if "GET" in (rule.methods or ()) and rule.endpoint not in FILES:
            for filled in _filled(rule, made, people, played):
                yield filled, rule.endpoint
    for query in ("runs?limit=3", "runs?state=complete", "participants?limit=2", "participants?state=enrolled"):
        yield f"/api/v1/studies/small/{query}", "a query"
    yield "/api/v1/audit?limit=7&after=20", "a query"


def _filled(rule: Rule, made: Server, people: list[str], played: list[str]) -> list[str]:
    """A route's addresses, with all values of its arguments."""
    things = {
        "study": ["small"],
        "email": ["analyst@example.org"],
        "trace": [made.trace],
        "token": [made.people[0][1]],
        "application": ["torcs"],
        "number": ["1"],
        "piece": ["2"],
        "file": ["report.html"],
    }
    for prefix, codes in (
        ("/participants/", people),
        ("/profiles/", people),
        ("/runs/", played),
        ("/devices/", [made.laptop.device.code, made.meter.device.code]),
    ):
        if f"{prefix}<code>" in rule.rule:
            things["code"] = codes
    unknown = rule.arguments - things.keys()
    assert not unknown, f"{rule.rule}: teach this test what {unknown} are"
    found = [rule.rule]
    for name in rule.arguments:
        found = [re.sub(rf"<(?:\w+:)?{name}>", thing, each) for each in found for thing in things[name]]
    return [f"{each}?count=3" if each.endswith("/missing") else each for each in found]


def everything_asked(made: Server, patch: pytest.MonkeyPatch, only: Role | None = None) -> list[Asked]:
    """Every answer to everybody, or to one role: the caller and request, the endpoint, the answer."""
    same_chances(patch, 2)
    return list(_asked(made, {who: client for who, client in clients(made).items() if only in (None, who)}))


def _asked(made: Server, everybody: dict[str, FlaskClient]) -> Iterator[Asked]:
    """Only the first participant asks at the addresses of others. Who was refused REFUSALS times asks no more."""
    for what, answer in made.answers:
        yield f"a device: {what}", "", answer
    asked = list(addresses(made.world.app, made))
    own = [each for each in asked if each[1].startswith("participant_pages.")]
    alike = {who for who in everybody if who.startswith("participant ")} - {"participant 0"}
    for who, client in everybody.items():
        refused: Counter[str] = Counter()
        for address, endpoint in own if who in alike else asked:
            if refused[endpoint] < REFUSALS:
                answer = client.get(address)
                refused[endpoint] += answer.status_code in REFUSED
                yield f"{who}: GET {address}", endpoint, answer
    apart = {who: client for who, client in everybody.items() if who not in alike}
    for (who, client), table, form in product(apart.items(), exports.tables(made.study), Format):
        address = f"/api/v1/studies/small/exports/{table}?format={form}"
        yield f"{who}: POST {address}", "", _whole(client.post(address, buffered=True))
    yield from _exported(made, apart)


def _exported(made: Server, everybody: dict[str, FlaskClient]) -> Iterator[Asked]:
    """Answers about exports that jobs make: everybody asks for one, and everybody fetches each file."""
    for number, (who, client) in enumerate(everybody.items(), 1):
        form = list(Format)[number % len(Format)]
        yield f"{who}: POST export as {form}", "", client.post("/studies/small/exports", data={"format": form})
        work_off(made.world)
    with made.world.database.reading() as session:
        jobs = session.scalars(select(Job.id).where(Job.kind == EXPORT).order_by(Job.id)).all()
    for who, client in everybody.items():
        for job, table in product(jobs, exports.tables(made.study)):
            address = f"/studies/small/exports/{job}/{table}"
            yield f"{who}: POST {address}", "", _whole(client.post(address, buffered=True))
        for page in ("exports", "jobs"):
            yield f"{who}: GET {page} with exports", "", client.get(f"/studies/small/{page}")


def _kept(made: Server) -> list[tuple[object, ...]]:
    """The database's rows of exports that jobs made."""
    with made.world.database.reading() as session:
        pieces = session.execute(select(FilePiece.job_id, FilePiece.name, FilePiece.at, FilePiece.content))
        jobs = session.execute(select(Job.id, Job.arguments, Job.result).where(Job.kind == EXPORT))
        return [(*rest, masked(content)) for *rest, content in pieces] + [tuple(job) for job in jobs]


def _whole(answer: TestResponse) -> TestResponse:
    """Close a buffered answer, and return it."""
    answer.close()
    return answer


def all_of(answer: TestResponse) -> bytes:
    """Status, headers and body."""
    headers = "".join(f"{name}: {value}\n" for name, value in sorted(answer.headers.items()))
    body: bytes = answer.data
    return f"{answer.status}\n{headers}\n".encode() + body


def difference(what: str, one: bytes, other: bytes) -> str:
    """The request, and both answers around their first difference."""
    a, b = masked(one), masked(other)
    at = next((place for place, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), min(len(a), len(b)))
    return f"{what}\n{a[max(0, at - 200) : at + 80]!r}\n{b[max(0, at - 200) : at + 80]!r}"


def test_two_servers_that_differ_in_the_allocation_alone_answer_alike(
    pair: Pair, logs: Sequence[object], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pair
    assert [a for a, b in zip(one.conditions, two.conditions, strict=True) if a == b] == ["T-HAPPE False"] * 4
    asked = set()
    for (what, endpoint, first), (same, _endpoint, second) in zip(
        everything_asked(one, monkeypatch), everything_asked(two, monkeypatch), strict=True
    ):
        assert what == same
        a, b = all_of(first), all_of(second)
        assert masked(a) == masked(b), difference(what, a, b)
        assert len(a) == len(b), what
        assert first.status_code < 500, what
        if endpoint not in PUBLIC:
            named = [label for label in LABELS if label in a or label in b]
            assert not named, (what, named)
        asked.add((endpoint, first.status_code))
    assert {endpoint for endpoint, _status in asked} - {
        endpoint for endpoint, status in asked if status == 200
    } == ELSEWHERE | BLINDED
    assert _kept(one) == _kept(two)
    assert {row[1] for row in _kept(one) if len(row) > 3} == {
        name for name, table in exports.tables(one.study).items() if table.is_open("locked")
    }
    logged = repr([*logs, *caplog.messages]).encode()
    assert len(logs) > 1000
    assert [label for label in LABELS if label in logged] == []
    _every_run_is_listed_without_its_condition(one)


def _every_run_is_listed_without_its_condition(made: Server) -> None:
    for role in roles_with(Right.RUN_READ):
        listed = made.world.staff(role).get("/api/v1/studies/small/runs?limit=200").get_json()["runs"]
        assert {run["condition"] for run in listed} == {None}
        assert {run["code"] for run in listed} == set(run_codes(made))
    with made.world.database.reading() as session:
        assert set(session.scalars(select(Run.condition))) == {None}


def test_this_comparison_would_see_a_condition(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """After unblinding, the same servers differ in each page that shows conditions, or facts that follow from them."""
    for each in pair:
        given_studies.unblind(each.world)
    answers = [[(asked[0], asked[2]) for asked in everything_asked(each, monkeypatch, Role.ANALYST)] for each in pair]
    differing = {
        re.sub(r"[0-9A-Z]{8}", "CODE", what.partition(": ")[2])
        for (what, first), (_same, second) in zip(*answers, strict=True)
        if masked(all_of(first)) != masked(all_of(second))
    }
    assert any(re.fullmatch(r"POST /studies/small/exports/[0-9]+/ratings", what) for what in differing)
    expected = {
        f"POST /api/v1/studies/small/exports/{table}?format={form}"
        for table in ("runs", "ratings", "records", "samples", "keys", "profiles", "learning_events")
        for form in Format
    }
    assert (
        expected
        | {
            "GET /api/v1/studies/small/runs",
            "GET /api/v1/studies/small/runs/CODE",
            "GET /studies/small/runs/CODE",
            "GET /api/v1/studies/small/commitment",
            "GET /api/v1/studies/small/profiles",
            "GET /api/v1/studies/small/profiles/CODE/torcs",
            "GET /studies/small/profiles",
            "GET /studies/small/profiles/CODE/torcs",
        }
        <= differing
    )
