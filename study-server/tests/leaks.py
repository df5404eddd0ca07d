# SPDX-License-Identifier: GPL-2.0-or-later
"""Two servers with the same history and different allocations. A difference in their answers reveals the allocation.

Codes, tokens and the clock are the same on both, so tests can compare times, and orders by code. This module masks
whatever still differs by chance: digests of random salts and of records, salts, signatures, ids of forms, and sealed
boxes.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from flask.testing import FlaskClient
from nacl.public import SealedBox
from sqlalchemy import select
from werkzeug.test import TestResponse

import given_devices
import given_participants
import given_studies
import records
from given_devices import Enrolled
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rights import Role
from happe_study.model.runs import ExclusionReason, Run
from happe_study.model.studies import Study
from happe_study.results.unblinding import Order, unblind_run
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.runs import exclusions
from happe_study.study.runs import participation as participants
from happe_study.study.runs import services as runs
from happe_study.study.studies.services import protocol_of
from world import World, fixed_secrets

SOME_DIFFER = (("one", 91), ("two", 119))  # under these seeds all played runs differ, except for the training
LABELS = (b"ondemand", b"T-HAPPE", b"O-HAPPE", b"B-HAPPE", b"+indicator")
STARTED_NS = 1_800_000_000_000_000_000
TICK_NS = 1_000_000
NO_LIMITS = {"login": "100000 per minute", "enrol": "100000 per minute", "participant": "100000 per minute"}

MASKS = [
    (re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])"), b"<sha256>"),
    (re.compile(rb'("salt": ?)"[0-9a-f]{32}"'), rb"\1<salt>"),
    (re.compile(rb"\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}(?![A-Za-z0-9_-])"), b".<time and signature>"),
    (re.compile(rb'(name="id" value=)"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"'), rb"\1<uuid>"),
    (re.compile(rb"(?m)^Date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9:]{8} GMT$"), b"Date: <date>"),
    (re.compile(rb'("sealed": ?)"[A-Za-z0-9+/]{747}="'), rb"\1<sealed box of 560 bytes>"),
]


def masked(content: bytes) -> bytes:
    """The content without anything that differs by chance between servers with the same history."""
    for pattern, mark in MASKS:
        content = pattern.sub(mark, content)
    return content


def same_chances(patch: pytest.MonkeyPatch, chapter: int) -> None:
    """From now on, make the same codes, tokens and times in this chapter on each server. A chapter has an hour."""
    random = Random(chapter)  # noqa: S311 - no secret
    now = [STARTED_NS + chapter * 3600 * 10**9]

    def tick() -> int:
        now[0] += TICK_NS
        return now[0]

    def token(size: int) -> str:
        return base64.urlsafe_b64encode(random.randbytes(size)).rstrip(b"=").decode()

    patch.setattr("happe_study.base.codes.secrets", SimpleNamespace(choice=random.choice, token_urlsafe=token))
    patch.setattr("happe_study.base.clock.time", SimpleNamespace(time_ns=tick))
    patch.setattr("flask_wtf.csrf.os", SimpleNamespace(urandom=bytes))
    patch.setattr("pyotp.random_base32", lambda size: base64.b32encode(random.randbytes(size))[:size].decode())


@dataclass
class Server:
    """A server with a history. `answers` has the answers that devices got in it, with their requests."""

    world: World
    study: Study
    laptop: Enrolled
    meter: Enrolled
    people: list[tuple[Participant, str]] = field(default_factory=list)
    trace: str = ""
    conditions: list[str] = field(default_factory=list)  # in the order of play
    answers: list[tuple[str, TestResponse]] = field(default_factory=list)
    ids: Random = field(default_factory=lambda: Random(42))  # noqa: S311 - no secret

    def uuid(self) -> str:
        """The next id that a client makes."""
        return str(UUID(int=self.ids.getrandbits(128), version=4))

    def ask(self, device: Enrolled, method: str, path: str, **more: Any) -> TestResponse:  # noqa: ANN401 - a request's
        """Send a device's request."""
        answer = self.world.client(device.token).open(f"/api/v1{path}", method=method, buffered=True, **more)
        self.answers.append((f"{method} {path}", answer))
        return answer

    def code(self, person: int, position: int, attempt: int = 1) -> str:
        """The code of a participant's run."""
        runs_of = given_participants.runs_of(self.world, self.people[person][0])
        return next(run.code for run in runs_of if (run.position, run.attempt) == (position, attempt))


def server(folder: Path, url: str, seed: int, **config: object) -> Server:
    """A server with a study that was locked with this seed, and a history of everything that can happen."""
    folder.mkdir(exist_ok=True)
    world = World(folder, url, limits=NO_LIMITS, **config)
    study = given_studies.study(
        world, protocol=given_studies.small(participants=8), draw=lambda size: bytes([seed]) * size
    )
    laptop = given_devices.device(world, study, "laptop", name="red")
    made = Server(world, study, laptop, given_devices.device(world, study, "meter", name="rig"))
    _invite(made)
    _play(made)
    _measure(made)
    _exclude(made)
    _leave(made)
    _stay(made)
    return made


def clients(made: Server) -> dict[str, FlaskClient]:
    """A client for every caller, with or without a token."""
    everybody = {str(role): made.world.client(made.world.account(role, email=f"{role}@example.org")) for role in Role}
    browsers = {}
    for number, (_person, token) in enumerate(made.people):
        browsers[f"participant {number}"] = made.world.client()
        browsers[f"participant {number}"].set_cookie("happe_participant", token)
    devices = {"laptop": made.world.client(made.laptop.token), "meter": made.world.client(made.meter.token)}
    return {"anybody": made.world.client(), **everybody, **browsers, **devices}


def _invite(made: Server) -> None:
    """Invite six: four enrol, the third with another choice for a withdrawal; one only consents; one does nothing."""
    for choice in ("erase", "erase", "deidentify", "erase"):
        made.people.append(given_participants.participant(made.world, made.study, choice=choice))
    for _ in range(2):
        made.people.append(given_participants.participant(made.world, made.study, enrolled=False))
    with made.world.database.writing() as session:
        agreed = session.get_one(Participant, made.people[4][0].id)
        participants.consent(session, agreed.id, "1", "erase", None)


def _play(made: Server) -> None:
    """Let the first three play runs. One run is aborted and played again, and the last one is in progress."""
    for person, positions in ((0, range(1, 7)), (1, range(1, 3)), (2, range(1, 3))):
        made.ask(made.laptop, "PUT", "/device/sitting", json={"participant": made.people[person][1]})
        for position in positions:
            _run(made, made.code(person, position), aborted=(person, position) == (0, 3))
            if (person, position) == (0, 3):
                _again(made, made.code(0, 3))
                _run(made, made.code(0, 3, 2))
    made.ask(made.laptop, "PUT", "/device/sitting", json={"participant": made.people[0][1]})
    _start(made, made.code(0, 7))


def _start(made: Server, code: str) -> dict[str, Any]:
    """Start a run, and return the condition's document that the laptop gets."""
    told = made.ask(made.laptop, "POST", f"/runs/{code}/start", json={"id": made.uuid()}).get_json()
    assert made.laptop.key
    document: dict[str, Any] = json.loads(SealedBox(made.laptop.key).decrypt(base64.b64decode(told["sealed"])))
    made.conditions.append(f"{document['condition']} {document['indicator']}")
    return document


def _run(made: Server, code: str, *, aborted: bool = False) -> None:
    """Let the laptop play a run under its condition. All measurements depend on the condition, the ratings do not."""
    document = _start(made, code)
    if aborted:
        made.ask(made.laptop, "POST", f"/runs/{code}/abort", json={"reason": "The game crashed."})
        return
    made.ask(made.laptop, "PUT", f"/runs/{code}/end")
    made.ask(made.laptop, "PUT", f"/runs/{code}/rating", json={"id": made.uuid(), "rating": 4})
    made.ask(made.laptop, "PUT", f"/runs/{code}/guess", json={"id": made.uuid(), "guess": "usual"})
    seed = sum(made.conditions[-1].encode())
    kernel = document["condition"] == "ondemand"
    record = records.make(code, 30, seed, client_id=made.uuid(), kernel=kernel)
    raw = records.encode(record | {"indicator": document["indicator"]})
    raw += b" " * (-len(raw) % 65536)
    path = f"/runs/{code}/record/{record['id']}"
    answer = made.ask(made.laptop, "PUT", path, data=raw, content_type="application/json")
    assert answer.status_code == 201, answer.data  # noqa: PLR2004 - Created


def _again(made: Server, code: str) -> None:
    with made.world.database.writing() as session:
        run = runs.find(session, made.study.id, code)
        runs.replace(session, run, fixed_secrets(), None)


def _measure(made: Server) -> None:
    """Upload a power trace of two parts, whose sizes depend on the conditions."""
    header = given_devices.header(made.study, made.meter, made.laptop) | {"id": made.uuid()}
    made.trace = header["id"]
    made.ask(made.meter, "PUT", f"/traces/{made.trace}", json=header)
    manifest = records.power_manifest(2, trace=made.trace)
    for number in range(2):
        watts = hashlib.sha256(made.conditions[number].encode()).digest() * (
            1 + sum(made.conditions[number].encode()) % 9
        )
        content = b"PAR1" + watts + len(watts).to_bytes(4, "little") + b"PAR1"
        headers = given_devices.part_headers(content)
        made.ask(made.meter, "PUT", f"/traces/{made.trace}/parts/{number}", data=content, headers=headers)
        manifest["parts"][number] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    made.ask(made.meter, "PUT", f"/traces/{made.trace}/seal", json=manifest)


def _exclude(made: Server) -> None:
    """Exclude a run, a run whose condition an emergency revealed, and its participant."""
    with made.world.database.writing() as session:
        study = session.get_one(Study, made.study.id)
        revealed = runs.find(session, study.id, made.code(0, 2))
        order = Order(None, "Somebody fell ill.", revealed.code)
        unblind_run(session, study, revealed, fixed_secrets(), order)
        for code in (made.code(0, 1), revealed.code, made.people[0][0].code):
            exclusions.exclude(session, study, code, ExclusionReason.FAULT, "It crashed.", None)


def _leave(made: Server) -> None:
    """Let the second and third withdraw, and the fourth drop out."""
    with made.world.database.writing() as session:
        people = [session.get_one(Participant, person.id) for person, _token in made.people]
        withdrawal.withdraw(session, people[1], fixed_secrets(), None)
        withdrawal.withdraw(session, people[2], fixed_secrets(), None)
        participants.replace(session, people[3], "Did not come.", None)


def _stay(made: Server) -> None:
    """Add four participants at other steps: before the handout, before a run, rating a run, and done."""
    world, study = made.world, made.study
    with world.database.writing() as session:
        reader, token = participants.invite(session, session.get_one(Study, study.id), None)
        participants.consent(session, reader.id, "1", "erase", None)
        answers = given_participants.answers(protocol_of(study))
        participants.answer(session, reader.id, answers, fixed_secrets(), None)
        session.flush()
        session.expunge(reader)
    made.people.append((reader, token))
    made.people += [given_participants.participant(world, study) for _ in range(3)]
    blue = given_devices.device(world, study, "laptop", name="blue")
    made.ask(blue, "PUT", "/device/sitting", json={"participant": made.people[8][1]})
    code = made.code(8, 1)
    made.ask(blue, "POST", f"/runs/{code}/start", json={"id": made.uuid()})
    made.ask(blue, "PUT", f"/runs/{code}/end")
    with world.database.writing() as session:
        last = session.get_one(Participant, made.people[9][0].id)
        last.state, last.done_us = ParticipantState.DONE, last.created_us


def run_codes(made: Server) -> list[str]:
    """Every run's code, in the order of planning."""
    with made.world.database.reading() as session:
        return list(session.scalars(select(Run.code).order_by(Run.id)))


def person_codes(made: Server) -> list[str]:
    """Every participant's code, in the order of invitation."""
    with made.world.database.reading() as session:
        return list(session.scalars(select(Participant.code).order_by(Participant.id)))
