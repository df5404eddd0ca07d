# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that removes erased power traces from the store. A server that reaches the store does it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from happe_study.model.audit.chain import append
from happe_study.model.jobs.work import Kind
from happe_study.model.rights import Right
from happe_study.study.traces.stores import storage_of
from happe_study.study.traces.upkeep import ERASED, ERASING

if TYPE_CHECKING:
    from happe_study.model.jobs.work import Work


def erase(work: Work) -> None:
    """Remove the traces in the argument `traces`, waiting while the store is away. The audit log gets an entry."""
    storage, traces = storage_of(work.server.config, work.database), work.arguments["traces"]
    for done, trace in enumerate(traces):
        work.doing("removing power traces", done, len(traces))
        storage.remove(UUID(trace))
    with work.taking_effect({"traces": len(traces)}) as session:
        append(session, ERASED, None, study_id=work.study_id, traces=traces)


KIND = Kind(ERASING, "Erasure of power traces", Right.PARTICIPANT_MANAGE, erase)
