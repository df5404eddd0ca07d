# SPDX-License-Identifier: GPL-2.0-or-later
"""Running all checks of a study as it is now, by itself or as a job."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from happe_study.model.jobs.work import Kind, Work
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.study import documents
from happe_study.study.checks import clock, conditions, doubles, parts, power
from happe_study.study.checks.evidence import Check, Evidence
from happe_study.study.checks.gathering import Sources, gather
from happe_study.study.documents import T61, Measure, PowerModel
from happe_study.study.traces.storage import Storage
from happe_study.study.traces.stores import storage_of


def checked(evidence: Evidence) -> list[Check]:
    """The results of all checks."""
    return [each.check(evidence) for each in (clock, conditions, parts, power, doubles)]


def check_study(  # noqa: PLR0913 - each is named
    session: Session,
    study: Study,
    key: bytes,
    storage: Storage,
    *,
    conditions: bool = True,
    deep: bool = False,
    measures: Mapping[str, Measure] | None = None,
    model: PowerModel | None = None,
) -> list[Check]:
    """Check a study, in a session that has read nothing but the study.

    `conditions`: whether the asker may know an unblinded study's conditions. `measures` and `model` take the place of
    the uploaded ones.
    """
    return checked(
        gather(
            session,
            study,
            Sources(
                key=key,
                storage=storage,
                model=model or documents.model(session, study) or T61,
                measures=documents.measures(session, study) if measures is None else measures,
                deep=deep,
            ),
            conditions=conditions,
        )
    )


CHECKS = "checks"
MOST = 200  # findings of a check that the page shows; a large study can have one for each run


def check(work: Work) -> None:
    """Check the study as it is now. The argument `conditions` says whether the asker may see conditions."""
    work.doing("reading records, traces and clocks")
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        key, storage = work.server.secrets.allocation, storage_of(work.server.config, work.database)
        made = check_study(session, study, key, storage, conditions=work.arguments["conditions"])
    with work.taking_effect({"checks": [_shown(each) for each in made]}):
        pass


def _shown(check: Check) -> dict[str, Any]:
    """A check for the page, with its first MOST findings. `more` is the number of the others."""
    document = check.document()
    return document | {"findings": document["findings"][:MOST], "more": max(0, len(check.findings) - MOST)}


KIND = Kind(CHECKS, "Checks", Right.RUN_READ, check, "check_pages.checks")
