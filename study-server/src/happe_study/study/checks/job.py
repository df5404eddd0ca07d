# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that checks a study's data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from happe_study.model.jobs.work import Kind
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.study.checks.services import check_study
from happe_study.study.traces.stores import storage_of

if TYPE_CHECKING:
    from happe_study.model.jobs.work import Work
    from happe_study.study.checks.findings import Check

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
