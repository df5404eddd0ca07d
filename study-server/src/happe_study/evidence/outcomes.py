# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may see the outcomes of runs: ratings, guesses and watts. For reviewers the protocol decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.access.rights import Right
from happe_study.design.study import StudyState

if TYPE_CHECKING:
    from happe_study.access.rules import Caller
    from happe_study.design.protocol.reading import Protocol
    from happe_study.design.study import Study


def sees_outcomes(who: Caller, study: Study, protocol: Protocol) -> bool:
    """Whether somebody sees outcomes. Nobody does before unblinding; a reviewer does if the protocol says so."""
    if study.state != StudyState.UNBLINDED:
        return False
    rights = who.rights_in(study.id)
    return Right.EXPORT in rights or (Right.PROFILE_READ in rights and protocol.review.outcomes)
