# SPDX-License-Identifier: GPL-2.0-or-later
"""Running all checks of a study as it is now, by itself or as a job."""

from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from happe_study.model.jobs.work import Kind, Work
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.study import documents
from happe_study.study.checks import clock, doubles, parts, power
from happe_study.study.checks import conditions as agreement
from happe_study.study.checks.evidence import Check
from happe_study.study.checks.gathering import Sources, gather
from happe_study.study.documents import T61
from happe_study.study.traces.stores import storage_of


def check_study(session: Session, study: Study, sources: Sources, *, conditions: bool = True) -> list[Check]:
    """Check a study, in a session that has read nothing but the study.

    `conditions`: whether the asker may know an unblinded study's conditions. Measures and a model in `sources` take the
    place of the uploaded ones.
    """
    measures = documents.measures(session, study) if sources.measures is None else sources.measures
    model = sources.model or documents.model(session, study) or T61
    evidence = gather(session, study, replace(sources, measures=measures, model=model), conditions=conditions)
    return [each.check(evidence) for each in (clock, agreement, parts, power, doubles)]


CHECKS = "checks"
MOST = 200  # findings of a check that the page shows; a large study can have one for each run


def check(work: Work) -> None:
    """Check the study as it is now. The argument `conditions` says whether the asker may see conditions."""
    work.doing("reading records, traces and clocks")
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        sources = Sources(work.server.secrets.allocation, storage_of(work.server.config, work.database))
        made = check_study(session, study, sources, conditions=work.arguments["conditions"])
    with work.taking_effect({"checks": [_shown(each) for each in made]}):
        pass


def _shown(check: Check) -> dict[str, Any]:
    """A check for the page, with its first MOST findings. `more` is the number of the others."""
    document = check.document()
    return document | {"findings": document["findings"][:MOST], "more": max(0, len(check.findings) - MOST)}


KIND = Kind(CHECKS, "Checks", Right.RUN_READ, check, "check_pages.checks")
