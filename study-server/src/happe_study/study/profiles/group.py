# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile compared with all profiles of its application: their median, and the profile's rank by unusualness."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.model.profiles import Profile
from happe_study.study.profiles import summaries
from happe_study.study.profiles.searching import levels_of

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@dataclass(frozen=True)
class Middle:
    """The median profile of an application (kHz by level), and all profiles' unusualness (per mille), ascending."""

    khz: tuple[int, ...]
    unusual: list[int]


@dataclass(frozen=True)
class Group:
    """The profiles of an application: their median and number; and one profile's rank, 1 for the most unusual."""

    median: tuple[int, ...]
    many: int
    place: int
    unusual: int  # per mille


def group_of(session: Session, one: Profile) -> Group:
    """The group of a profile, which includes the profile itself."""
    middle = _middle(session, one)
    place = len(middle.unusual) - bisect_right(middle.unusual, one.unusual) + 1
    return Group(middle.khz, len(middle.unusual), place, summaries.unusual(one.khz, one.ladder, middle.khz))


def _middle(session: Session, one: Profile) -> Middle:
    every = select(Profile).where(Profile.study_id == one.study_id, Profile.application == one.application)
    levels = levels_of(session, every)
    unusual = session.scalars(every.with_only_columns(Profile.unusual).order_by(Profile.unusual))
    return Middle(summaries.median([khz for khz, many in levels for _ in range(many)]), list(unusual))
