# SPDX-License-Identifier: GPL-2.0-or-later
"""A study checked: for an asker, as the study stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.analysis.machines import T61
from happe_study.checks import clock, conditions, doubles, parts, power
from happe_study.checks.gathering import Sources, gather
from happe_study.reports import documents
from happe_study.traces.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sqlalchemy.orm import Session

    from happe_study.analysis.documents import Measure
    from happe_study.analysis.machines import PowerModel
    from happe_study.checks.evidence import Evidence
    from happe_study.checks.findings import Check
    from happe_study.studies.models import Study

CHECKS = (clock.check, conditions.check, parts.check, power.check, doubles.check)


def checked(evidence: Evidence) -> list[Check]:
    """Every check of what there is."""
    return [check(evidence) for check in CHECKS]


def check_study(  # noqa: PLR0913 - each is named
    session: Session,
    study: Study,
    key: bytes,
    traces: Path,
    *,
    conditions: bool = True,
    deep: bool = False,
    measures: Mapping[str, Measure] | None = None,
    model: PowerModel | None = None,
) -> list[Check]:
    """Check a study in a session of which nothing has been asked yet but the study.

    `conditions`: whether the asker may know conditions, of an unblinded study. `measures` and `model` are used instead
    of those that were uploaded.
    """
    return checked(
        gather(
            session,
            study,
            Sources(
                key=key,
                storage=Storage(traces),
                model=model or documents.model(session, study) or T61,
                measures=documents.measures(session, study) if measures is None else measures,
                deep=deep,
            ),
            conditions=conditions,
        )
    )
