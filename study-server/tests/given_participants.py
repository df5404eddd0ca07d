# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants with whom tests begin, and the actions of participants and laptops."""

import re
from http import HTTPStatus
from uuid import uuid4

from flask.testing import FlaskClient
from sqlalchemy import select
from sqlalchemy.orm import Session

from given_devices import Enrolled, device, seat
from happe_study.model.participants import Participant
from happe_study.model.rules import Caller, DeviceKind, Who
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.protocol.reading import ItemKind, Protocol
from happe_study.study.runs import participation as services
from happe_study.study.runs import services as runs
from happe_study.study.studies.services import protocol_of
from world import World, fixed_secrets

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')


def participant(
    world: World, study: Study, *, enrolled: bool = True, choice: str | None = None
) -> tuple[Participant, str]:
    """A participant of a study, and the token of their link. With `enrolled`, they have also read the handout."""
    with world.database.writing() as session:
        row, token = services.invite(session, session.get_one(Study, study.id), None)
        if enrolled:
            _enrol(session, row, protocol_of(study), choice)
        session.flush()
        session.expunge(row)
    return row, token


def _enrol(session: Session, row: Participant, protocol: Protocol, choice: str | None) -> None:
    services.consent(session, row.id, protocol.consent.version, choice or protocol.consent.withdrawal[0], None)
    services.answer(session, row.id, answers(protocol), fixed_secrets(), None)
    services.read_handout(session, row.id, None)


def answers(protocol: Protocol, **changed: str) -> dict[str, str]:
    """Answers to a protocol's questionnaire: the first option, the number 7, or a word."""
    kinds = {ItemKind.NUMBER: "7", ItemKind.TEXT: "history"}
    given = {item.key: kinds.get(item.kind) or item.options[0] for item in protocol.questionnaire.items}
    return given | changed


def runs_of(world: World, row: Participant) -> list[Run]:
    """A participant's runs by position and attempt, as they are now."""
    with world.database.reading() as session:
        query = select(Run).where(Run.participant_id == row.id).order_by(Run.position, Run.attempt)
        return list(session.scalars(query))


def now(world: World, row: Participant) -> Participant:
    """A participant as they are now."""
    with world.database.reading() as session:
        found: Participant = session.get_one(Participant, row.id)
        return found


def laptop_with(world: World, study: Study, row: Participant) -> Enrolled:
    """A laptop at which the participant sits."""
    laptop = device(world, study)
    seat(world, laptop, row.id)
    return laptop


def as_device(laptop: Enrolled) -> Caller:
    """The laptop as a caller of services."""
    return Caller(Who.DEVICE, laptop.device.id, laptop.device.code, laptop.device.study_id, DeviceKind.LAPTOP)


def as_participant(row: Participant) -> Caller:
    """The participant as a caller of services."""
    return Caller(Who.PARTICIPANT, row.id, row.code, row.study_id)


def started(world: World, code: str, laptop: Enrolled, start_id: str | None = None) -> bytes:
    """Start a run, and return the sealed answer to the laptop."""
    with world.database.writing() as session:
        run = runs.find(session, laptop.device.study_id, code)
        return runs.start(session, run, as_device(laptop), start_id or str(uuid4()), fixed_secrets())


def ended(world: World, code: str, laptop: Enrolled) -> bytes:
    """Start and end a run, and return the sealed answer to the laptop, as the next two do."""
    told = started(world, code, laptop)
    with world.database.writing() as session:
        runs.end(session, runs.find(session, laptop.device.study_id, code), as_device(laptop))
    return told


def answered(world: World, code: str, laptop: Enrolled) -> bytes:
    """Start, end and rate a run, and guess if the protocol asks for it."""
    told = ended(world, code, laptop)
    with world.database.writing() as session:
        run = runs.find(session, laptop.device.study_id, code)
        protocol = protocol_of(session.get_one(Study, laptop.device.study_id))
        runs.rate(session, run, str(uuid4()), protocol.rating.highest, as_device(laptop))
        if protocol.guess.ask:
            runs.guess(session, run, str(uuid4()), "dont-know", as_device(laptop))
    return told


def completed(world: World, code: str, laptop: Enrolled) -> bytes:
    """Do the same, and let the run's record arrive."""
    told = answered(world, code, laptop)
    with world.database.writing() as session:
        record_arrives(session, runs.find(session, laptop.device.study_id, code))
    return told


def record_arrives(session: Session, run: Run) -> None:
    """Change the run as an upload does after it has stored the record."""
    runs.recorded(session, run, session.get_one(Study, run.study_id))


def browser(world: World, token: str) -> FlaskClient:
    """A browser in which the participant has followed their link."""
    client = world.client()
    assert client.post(f"/p/{token}", data=hidden(client.get(f"/p/{token}").text)).status_code == HTTPStatus.SEE_OTHER
    return client


def hidden(page: str) -> dict[str, str]:
    """The hidden fields of a page's forms."""
    return dict(HIDDEN.findall(page))
