# SPDX-License-Identifier: GPL-2.0-or-later
"""What an experimenter of one site sees of a study: its participants, and their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from happe_study.access.rules import site_in
from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from sqlalchemy import Select

Query = TypeVar("Query", bound="Select[Any]")


def of_site(query: Query, study_id: int) -> Query:
    """A query over participants, without those whom the caller may not see."""
    site = site_in(study_id)
    return query if site is None else query.where(Participant.site == site)


def runs_of_site(query: Query, study_id: int) -> Query:
    """A query over runs, without those of participants whom the caller may not see."""
    site = site_in(study_id)
    whose = Run.participant_id == Participant.id
    return query if site is None else query.join(Participant, whose).where(Participant.site == site)
