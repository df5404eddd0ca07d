# SPDX-License-Identifier: GPL-2.0-or-later
"""The jobs that remove erased power traces from the store, and that erase the identities of a study's participants."""

from uuid import UUID

from happe_study.model.audit.chain import append
from happe_study.model.jobs.work import FailedError, Kind, Work
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.results.withdrawal import retention
from happe_study.study.traces.stores import storage_of
from happe_study.study.traces.upkeep import ERASED, ERASING


def erase(work: Work) -> None:
    """Remove the traces in the argument `traces`, waiting while the store is away. The audit log gets an entry.

    A server that reaches the store does it.
    """
    storage, traces = storage_of(work.server.config, work.database), work.arguments["traces"]
    for done, trace in enumerate(traces):
        work.doing("removing power traces", done, len(traces))
        storage.remove(UUID(trace))
    with work.taking_effect({"traces": len(traces)}) as session:
        append(session, ERASED, None, study_id=work.study_id, traces=traces)


def erase_identities(work: Work) -> None:
    """Erase the identities, once the protocol's date has passed.

    Each in its own transaction, so that a repeated job continues.
    """
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        name, planned = study.name, retention.plan(session, study)
        left = retention.identified(session, study.id)
    if planned is None or not planned.is_due:
        raise FailedError("The day after which identities are erased has not come.")
    for done, participant in enumerate(left):
        work.doing("erasing identities", done, len(left))
        with work.database.writing() as session:
            retention.erase(session, participant, work.server.secrets)
    with work.taking_effect({"participants": len(left)}) as session:
        append(session, "identities.erased", None, study_id=work.study_id, study=name, participants=len(left))


KIND = Kind(ERASING, "Erasure of power traces", Right.PARTICIPANT_MANAGE, erase)
IDENTITIES = Kind(retention.KIND, "Erasure of identities", Right.STUDY_LOCK, erase_identities)
