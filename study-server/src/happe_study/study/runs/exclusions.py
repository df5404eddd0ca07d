# SPDX-License-Identifier: GPL-2.0-or-later
"""Excluding runs and participants from the analysis, and undoing it.

An exclusion changes neither allocation nor slot, and nobody is replaced. It counts if it was made blind: the study was
locked, and no emergency had revealed a condition of what it excludes. Such an exclusion can be undone only blind, too.
A later one is a sensitivity analysis, and can be undone at any time.
"""

from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import Problem, conflict, not_found
from happe_study.model.audit.chain import append
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rules import Caller
from happe_study.model.runs import Exclusion, ExclusionReason, Run
from happe_study.model.studies import Study, StudyState
from happe_study.study.runs import participation
from happe_study.study.runs import services as runs
from happe_study.study.runs.machine import State

TAKES_PART = (ParticipantState.ENROLLED, ParticipantState.DONE)
PLAYED = (State.RATED, State.COMPLETE)

Shown = tuple[Exclusion, str, str | None]  # with the codes of the participant and the run


def exclude(  # noqa: PLR0913, PLR0917 - what the audit log says
    session: Session, study: Study, code: str, reason: ExclusionReason, note: str, who: Caller | None
) -> None:
    """Exclude the run or the participant of this code. Repeating it with the same content has no effect.

    404: there is none. 409: it does not count anyway, or is excluded for another reason.
    """
    participant, run = _locked(session, study, code)
    if run is not None and run.state not in PLAYED:
        raise conflict("run-state", f"A run that is {run.state} does not count anyway.")
    if participant.state not in TAKES_PART:
        raise conflict("participant-state", f"A participant who is {participant.state} does not count anyway.")
    if (known := _of(session, participant, run)) is not None:
        if (known.reason, known.note) == (reason, note):
            return
        raise conflict("excluded", "It is excluded already, for another reason. Undo that first.")
    made = Exclusion(study_id=study.id, participant_id=participant.id, run_id=run.id if run else None, reason=reason)
    made.note, made.blind, made.at_us = note, _is_blind(session, study, participant, run), now_us()
    session.add(made)
    _log(session, "excluded", made, code, who, note)


def undo(session: Session, study: Study, code: str, note: str, who: Caller | None) -> None:
    """Count the run or the participant of this code again.

    404: there is none. 409: it is not excluded, the participant's data or identity are erased, or the exclusion was
    made blind and a condition may be known now.
    """
    participant, run = _locked(session, study, code)
    known = _of(session, participant, run)
    if known is None:
        raise conflict("not-excluded", "It is not excluded.")
    if participant.state not in TAKES_PART or known.note is None:
        raise conflict(
            "erased", "The participant has withdrawn, or their identity is erased: nobody can count them again."
        )
    if known.blind and not _is_blind(session, study, participant, run):
        raise conflict(
            "not-blind", "Its condition may be known now, so it stays excluded. The report shows both answers."
        )
    session.delete(known)
    _log(session, "included", known, code, who, note)


def of_study(session: Session, study_id: int) -> Sequence[Shown]:
    """A study's exclusions, in the order of random codes."""
    rows = select(Exclusion, Participant.code, Run.code).join(Participant, Participant.id == Exclusion.participant_id)
    rows = rows.outerjoin(Run, Run.id == Exclusion.run_id).where(Exclusion.study_id == study_id)
    return [(row[0], row[1], row[2]) for row in session.execute(rows.order_by(Participant.code, Run.code))]


def _locked(session: Session, study: Study, code: str) -> tuple[Participant, Run | None]:
    """The participant of a code, or the run with its participant, locked. Blocks unblinding until the commit."""
    session.refresh(study, with_for_update={"read": True})
    try:
        run = runs.find(session, study.id, code)
    except Problem:
        participant = participation.find(session, study.id, code)
        session.refresh(participant, with_for_update=FOR_CHANGE)
        if participant.code != code:  # a withdrawal has just given them another one
            raise not_found() from None
        return participant, None
    return runs.locked(session, run)[0], run


def _of(session: Session, participant: Participant, run: Run | None) -> Exclusion | None:
    mine = select(Exclusion).where(Exclusion.participant_id == participant.id)
    return session.scalar(mine.where(Exclusion.run_id.is_(None) if run is None else Exclusion.run_id == run.id))


def _is_blind(session: Session, study: Study, participant: Participant, run: Run | None) -> bool:
    """Whether nobody can know a condition of the run, or of any of the participant's runs."""
    known = exists().where(Run.participant_id == participant.id, Run.revealed_us.is_not(None))
    known = known if run is None else known.where(Run.id == run.id)
    return study.state == StudyState.LOCKED and not session.scalar(select(known))


def _log(session: Session, action: str, made: Exclusion, code: str, who: Caller | None, note: str) -> None:  # noqa: PLR0913, PLR0917 - the same
    what = "participant" if made.run_id is None else "run"
    about = {what: code, "reason": made.reason, "note": note, "blind": made.blind}
    append(session, f"{what}.{action}", who, study_id=made.study_id, participant_id=made.participant_id, **about)
