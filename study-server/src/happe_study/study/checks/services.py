# SPDX-License-Identifier: GPL-2.0-or-later
"""Running all checks of a study as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.study.checks import clock, conditions, doubles, parts, power
from happe_study.study.checks.gathering import Sources, gather
from happe_study.study.documents import services as documents
from happe_study.study.documents.machines import T61

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.orm import Session

    from happe_study.model.studies import Study
    from happe_study.study.checks.evidence import Evidence
    from happe_study.study.checks.findings import Check
    from happe_study.study.documents.machines import PowerModel
    from happe_study.study.documents.reading import Measure
    from happe_study.study.traces.storage import Storage

CHECKS = (clock.check, conditions.check, parts.check, power.check, doubles.check)


def checked(evidence: Evidence) -> list[Check]:
    """The results of all checks."""
    return [check(evidence) for check in CHECKS]


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
