# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of participants: invitation, consent, answers, handout, dropping out. results/withdrawal has withdrawal.

    invited --consent--> consented --answer--> enrolled --the last run complete--> done
       +--------------------+---------------------+------replace-----> replaced
       +--------------------+---------------------+------withdraw----> withdrawn <-- done

Every function takes a session of `writing()` and raises Problem. The functions for a participant's own steps take the
id, lock the row, and return it. Repeating a step with the same content has no effect.
"""

from collections.abc import Mapping

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from happe_study.base import fresh
from happe_study.base.clock import now_us
from happe_study.base.codes import is_code
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE
from happe_study.base.languages import gettext
from happe_study.base.problems import FieldError, conflict, not_found, unprocessable
from happe_study.model.accounts import TokenKind
from happe_study.model.audit.chain import append
from happe_study.model.participants import OnWithdrawal, Participant, ParticipantState
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.study.people import questionnaire, sittings, tokens
from happe_study.study.runs import planning
from happe_study.study.runs import services as runs
from happe_study.study.studies.services import protocol_of

_READ = (
    select(Participant, Study)
    .join(Study, Study.id == Participant.study_id)
    .where(Participant.id == bindparam("participant"))
)
_LOCK = _READ.with_for_update(of=Participant, **FOR_CHANGE).execution_options(populate_existing=True)
ON_REPLACEMENT = "the participant dropped out"


def invite(session: Session, study: Study, who: Caller | None) -> tuple[Participant, str]:
    """Create a participant. Returns them and their link's token, to show once. Problem 409: the study is not open."""
    planning.require_open(session, study)
    made = {"study_id": study.id, "created_us": now_us()}
    participant = fresh.add(session, lambda code: Participant(code=code, **made))
    token = tokens.issue(session, TokenKind.PARTICIPANT, participant.id)
    _log(session, "invited", participant, who)
    return participant, token


def read(session: Session, participant_id: int) -> tuple[Participant, Study]:
    """A participant and their study."""
    participant, study = session.execute(_READ, {"participant": participant_id}).one()
    return participant, study


def find(session: Session, study_id: int, code: str) -> Participant:
    """A study's participant. 404: the study has no such participant."""
    found = select(Participant).where(Participant.code == code, Participant.study_id == study_id)
    participant = session.scalar(found) if is_code(code) else None
    if participant is None:
        raise not_found()
    return participant


def consent(session: Session, participant_id: int, version: str, on_withdrawal: str, who: Caller | None) -> Participant:
    """Store a participant's consent to a version of the text, and their choice for their data after a withdrawal.

    409: they agreed to something else before. 422: the protocol has another version, or does not offer the choice.
    """
    participant, study = _locked(session, participant_id)
    protocol = protocol_of(study)
    if participant.state != ParticipantState.INVITED:
        if (participant.consent_version, participant.on_withdrawal) == (version, on_withdrawal):
            return participant
        raise conflict("consented", gettext("You have already agreed. The text that you agreed to stays valid."))
    if version != protocol.consent.version:
        raise unprocessable(gettext("The text of the consent has changed. Please read it again."))
    if on_withdrawal not in protocol.consent.withdrawal:
        wrong = FieldError("on_withdrawal", gettext("Choose what should happen to your data if you withdraw."))
        raise unprocessable(gettext("Please say what should happen to your data if you withdraw."), wrong)
    participant.consent_version, participant.consent_us = version, now_us()
    participant.on_withdrawal = OnWithdrawal(on_withdrawal)
    participant.state = ParticipantState.CONSENTED
    _log(session, "consented", participant, who, version=version)
    return participant


def answer(
    session: Session, participant_id: int, form: Mapping[str, str], secrets: Secrets, who: Caller | None
) -> Participant:
    """Store a participant's answers to the questionnaire, and enrol them: they get a slot and their runs.

    409: they answered differently before, have not consented yet, or there is no place for them (`full`, `not-open`).
    422: answers are missing or wrong, with an error for each by the item's key.
    """
    participant, study = _locked(session, participant_id)
    protocol = protocol_of(study)
    found = questionnaire.read(protocol.questionnaire.items, form)
    if participant.state != ParticipantState.CONSENTED:
        if participant.answers is not None and participant.answers == found.kept:
            return participant
        raise conflict("answered", gettext("The questionnaire is closed now. Your earlier answers stay valid."))
    if found.wrong:
        errors = [FieldError(key, detail) for key, detail in found.wrong.items()]
        raise unprocessable(gettext("Some answers are missing or can't be used."), *errors)
    participant.answers = found.kept
    participant.stratum = str(found.kept[protocol.strata.by]) if protocol.strata else None
    planning.enrol(session, participant, study, protocol, secrets)
    _log(session, "enrolled", participant, who)
    return participant


def read_handout(session: Session, participant_id: int, who: Caller | None) -> Participant:
    """Note that a participant has read the handout. 409: they are not enrolled."""
    participant, _study = _locked(session, participant_id)
    if participant.handout_us is not None:
        return participant
    if participant.state != ParticipantState.ENROLLED:
        raise conflict("not-enrolled", "The instructions come after the questionnaire.")
    participant.handout_us = now_us()
    _log(session, "handout-read", participant, who)
    return participant


def replace(session: Session, participant: Participant, reason: str, who: Caller | None) -> None:
    """Free the slot of a participant who dropped out, for the next one of their stratum. Their data stays.

    409: they have completed every run, or have withdrawn.
    """
    _locked(session, participant.id)
    if participant.state == ParticipantState.REPLACED:
        return
    if participant.state in (ParticipantState.DONE, ParticipantState.WITHDRAWN):
        raise conflict("participant-state", f"A participant who is {participant.state} can't be replaced.")
    end(session, participant, ParticipantState.REPLACED, ON_REPLACEMENT)
    planning.release(session, participant)
    _log(session, "replaced", participant, who, reason=reason)


def end(session: Session, participant: Participant, state: ParticipantState, reason: str) -> None:
    """End a participation: abort started runs, revoke the participant's link, and end their sitting."""
    runs.stop(session, participant, reason)
    participant.state, participant.ended_us = state, now_us()
    tokens.revoke_all(session, TokenKind.PARTICIPANT, participant.id)
    sittings.close(session, participant_id=participant.id)
    session.flush()


def _locked(session: Session, participant_id: int) -> tuple[Participant, Study]:
    """Lock a participant, so that only this transaction changes them and their runs. Returns them and their study."""
    participant, study = session.execute(_LOCK, {"participant": participant_id}).one()
    return participant, study


def _log(session: Session, action: str, participant: Participant, who: Caller | None, **detail: str) -> None:
    named = {"participant": participant.code, **detail}
    append(session, f"participant.{action}", who, study_id=participant.study_id, participant_id=participant.id, **named)
