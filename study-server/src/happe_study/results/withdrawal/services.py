# SPDX-License-Identifier: GPL-2.0-or-later
"""A participant withdraws: they take part no longer, and what is theirs goes as they chose."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from happe_study.access.rules import Who
from happe_study.audit.chain import append
from happe_study.evidence.traces.storage import Storage
from happe_study.people.participants.models import OnWithdrawal, Participant, ParticipantState
from happe_study.results.withdrawal import erasure
from happe_study.runs.participation.services import end

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller
    from happe_study.base.config import Config, Secrets
    from happe_study.results.withdrawal.recordings import Recording

ON_WITHDRAWAL = "the participant withdrew"


@dataclass(frozen=True)
class Withdrawal:
    """What was done with the data after a withdrawal, and the power traces to delete from the disk after the commit."""

    chosen: OnWithdrawal
    recordings: tuple[Recording, ...] = ()


def withdraw(session: Session, participant: Participant, secrets: Secrets, who: Caller | None) -> Withdrawal:
    """They withdraw. Their data is erased, or stripped of what tells whose it is, as they chose when they agreed.

    Their slot goes to the next one, unless they have completed every run and their data stays. Somebody who has not
    agreed yet has given hardly anything: that is erased.
    """
    session.refresh(participant, with_for_update=True)
    chosen = OnWithdrawal(participant.on_withdrawal or OnWithdrawal.ERASE)
    if participant.state == ParticipantState.WITHDRAWN:
        return Withdrawal(chosen)
    end(session, participant, ParticipantState.WITHDRAWN, ON_WITHDRAWAL)
    recordings: list[Recording] = []
    if chosen is OnWithdrawal.ERASE:
        recordings = erasure.erase(session, participant)
    else:
        erasure.deidentify(session, participant, secrets)
    by = replace(who, name="") if who and who.who is Who.PARTICIPANT else who  # a code that nobody could erase
    append(session, "participant.withdrawn", by, study_id=participant.study_id, chosen=chosen)
    return Withdrawal(chosen, tuple(recordings))


def delete_files(gone: Withdrawal, config: Config) -> None:
    """Delete erased traces from the disk, after the commit. What a crash leaves, the server's next start sweeps."""
    for recording in gone.recordings:
        Storage(config.traces_folder).remove(UUID(recording.client_id))
