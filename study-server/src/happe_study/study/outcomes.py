# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may see the outcomes of runs: ratings, guesses and watts. For reviewers the protocol decides."""

from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study, StudyState
from happe_study.study.protocol.reading import Protocol


def sees_outcomes(who: Caller, study: Study, protocol: Protocol) -> bool:
    """Whether somebody sees outcomes. Nobody does before unblinding; a reviewer does if the protocol says so."""
    if study.state != StudyState.UNBLINDED:
        return False
    rights = who.rights_in(study.id)
    return Right.EXPORT in rights or (Right.PROFILE_READ in rights and protocol.review.outcomes)
