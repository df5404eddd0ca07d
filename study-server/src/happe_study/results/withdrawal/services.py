# SPDX-License-Identifier: GPL-2.0-or-later
"""Withdrawing a participant: they no longer take part, and their data is treated as they chose."""

from contextlib import suppress
from dataclasses import replace

from sqlalchemy.orm import Session

from happe_study.base.config import ConfigError, Secrets
from happe_study.base.parts import Parts
from happe_study.base.s3 import AwayError
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services as jobs
from happe_study.model.participants import OnWithdrawal, Participant, ParticipantState
from happe_study.model.rules import Caller, Who
from happe_study.results.withdrawal import erasure
from happe_study.study.runs.participation import end
from happe_study.study.traces.stores import storage_of
from happe_study.study.traces.upkeep import ERASING

ON_WITHDRAWAL = "the participant withdrew"


def require_owner(parts: Parts) -> None:
    """Raise NotOwnerError if this server could not erase power traces. Call it before the transaction that withdraws.

    While the store is away, the job that erases the traces waits.
    """
    with suppress(AwayError, ConfigError):
        storage_of(parts.config, parts.database).require_owner()


def withdraw(session: Session, participant: Participant, secrets: Secrets, who: Caller | None) -> OnWithdrawal:
    """Withdraw a participant, and erase or de-identify their data, as they chose in the consent. Returns the choice.

    Their slot becomes free, unless they have completed every run and their data stays. This erases the data of somebody
    who has not consented yet.
    """
    session.refresh(participant, with_for_update=True)
    chosen = OnWithdrawal(participant.on_withdrawal or OnWithdrawal.ERASE)
    if participant.state == ParticipantState.WITHDRAWN:
        return chosen
    end(session, participant, ParticipantState.WITHDRAWN, ON_WITHDRAWAL)
    if chosen is OnWithdrawal.ERASE:
        _ask_to_remove(session, participant, erasure.erase(session, participant))
    else:
        erasure.deidentify(session, participant, secrets)
    by = replace(who, name="") if who and who.who is Who.PARTICIPANT else who  # the entry must not keep the code
    append(session, "participant.withdrawn", by, study_id=participant.study_id, chosen=chosen)
    return chosen


def _ask_to_remove(session: Session, participant: Participant, traces: list[str]) -> None:
    """Start a job that removes erased traces from the store after the commit. The job does not name the participant."""
    if traces:
        jobs.ask(session, ERASING, "a withdrawal", participant.study_id, traces=traces)
