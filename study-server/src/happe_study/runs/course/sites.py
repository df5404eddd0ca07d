# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters for experimenters of one site: they see only that site's participants and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from happe_study.access.rules import site_in
from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from sqlalchemy import Select

Query = TypeVar("Query", bound="Select[Any]")


def of_site(query: Query, study_id: int) -> Query:
    """The query, restricted to the participants whom the caller may see."""
    site = site_in(study_id)
    return query if site is None else query.where(Participant.site == site)


def runs_of_site(query: Query, study_id: int) -> Query:
    """The query, restricted to the runs of participants whom the caller may see."""
    site = site_in(study_id)
    whose = Run.participant_id == Participant.id
    return query if site is None else query.join(Participant, whose).where(Participant.site == site)
