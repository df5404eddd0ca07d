# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants whom tests put into the database without any page, for tests of the allocation."""

from collections import Counter, defaultdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.codes import new_code
from happe_study.model.participants import OnWithdrawal, Participant
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.runs import planning
from happe_study.study.sealing import open_condition
from happe_study.study.studies.services import protocol_of
from world import World, fixed_secrets

SECRETS = fixed_secrets()


def consented(session: Session, study_id: int, stratum: str | None = None) -> Participant:
    """A participant who has consented and waits for a slot."""
    row = Participant(
        study_id=study_id,
        code=new_code(),
        state="consented",
        stratum=stratum,
        on_withdrawal=OnWithdrawal.ERASE,
        answers={"field_of_study": "physics"},
        created_us=now_us(),
    )
    session.add(row)
    session.flush()
    return row


def enrol(world: World, study_id: int, stratum: str | None = None) -> int:
    """Enrol a new participant in a separate transaction, and return their id."""
    with world.database.writing() as session:
        study = session.get_one(Study, study_id)
        participant = consented(session, study_id, stratum)
        planning.enrol(session, participant, study, protocol_of(study), SECRETS)
        return participant.id


def leave(world: World, participant_id: int) -> None:
    """Let a participant drop out."""
    with world.database.writing() as session:
        participant = session.get_one(Participant, participant_id)
        participant.state = "replaced"
        assert planning.release(session, participant)


def sequences(session: Session, participants: list[int]) -> Counter[tuple[str, tuple[str, ...]]]:
    """How many of these participants have each order of conditions in each application, by the last attempts."""
    found: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    runs = select(Run).where(Run.participant_id.in_(participants), Run.state != "replaced").order_by(Run.position)
    for run in session.scalars(runs):
        label = open_condition(SECRETS.allocation, run.code, run.condition_sealed).label
        found[run.participant_id, run.application].append(label)
    return Counter((application, tuple(labels)) for (_participant, application), labels in found.items())
