# SPDX-License-Identifier: GPL-2.0-or-later
"""The searchable facts of a profile, computed when services.py copies lessons from records."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean, median_low
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert, select, update

from happe_study.base.database import table
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile
from happe_study.study.profiles.reading import histories

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.orm import Session

    from happe_study.study.profiles.history import History

PER_MILLE = 1000
AT_ONCE = 50  # participants; each has some hundred lessons
_NEW = insert(table(Profile))


def refresh(session: Session, study_id: int, participants: Collection[int]) -> None:
    """Compute the profile rows of these participants again from the rows of their runs."""
    every = sorted(participants)
    for start in range(0, len(every), AT_ONCE):
        _refresh(session, study_id, every[start : start + AT_ONCE])


def rank(session: Session, study_id: int) -> None:
    """Store each profile's distance from its application's median (column `unusual`), for all profiles of a study."""
    columns = (Profile.id, Profile.khz, Profile.ladder)
    mine = select(Profile.application, *columns).where(Profile.study_id == study_id)
    groups: dict[str, list[Any]] = defaultdict(list)
    for row in session.execute(mine):
        groups[row.application].append(row)
    for rows in groups.values():
        middle = median([row.khz for row in rows])
        ranked = [{"id": row.id, "unusual": unusual(row.khz, row.ladder, middle)} for row in rows]
        session.execute(update(Profile), ranked)


def median(profiles: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The lower median of each level. It is a frequency that some profile has."""
    return tuple(median_low(levels) for levels in zip(*profiles, strict=True))


def unusual(khz: Sequence[int], ladder: Sequence[int], middle: Sequence[int]) -> int:
    """The mean distance of the levels from a group's, in per mille of the ladder's width."""
    width = max(ladder[-1] - ladder[0], 1)
    return round(PER_MILLE * mean(abs(one - other) for one, other in zip(khz, middle, strict=True)) / width)


def _refresh(session: Session, study_id: int, participants: list[int]) -> None:
    known = select(Profile.participant_id, Profile.application, Profile.id)
    ids = {tuple(row[:2]): row.id for row in session.execute(known.where(Profile.participant_id.in_(participants)))}
    named = select(Participant.id, Participant.code).where(Participant.id.in_(participants))
    codes = {number: code for number, code in session.execute(named)}  # noqa: C416 - rows
    new, changed = [], []
    for (participant, application), history in histories(session, participants).items():
        row = summary(history)
        if (known_id := ids.get((participant, application))) is not None:
            changed.append({"id": known_id, **row})
        else:
            whose = {"study_id": study_id, "participant_id": participant, "application": application}
            whose["participant"] = codes[participant]
            new.append({**whose, **row, "flagged": False, "notes": 0})
    if new:
        session.execute(_NEW, new)
    if changed:
        session.execute(update(Profile), changed)


def summary(history: History) -> dict[str, Any]:
    """The columns of a profile's row that follow from its history."""
    keys = [step.lesson.key for step in history.steps]
    taught = [chapter for chapter in history.chapters if chapter.lessons]
    return {
        "khz": list(history.levels),
        "ladder": list(history.chapters[-1].ladder),
        "f_max_khz": history.chapters[-1].ladder[-1],
        "highest_khz": history.levels[-1],
        "runs": len(history.chapters),
        "performance": keys.count("performance"),
        "power": keys.count("power"),
        "presses": len(keys),
        "taught_in": f" {' '.join(dict.fromkeys(chapter.condition for chapter in taught))} ",
        "hit_top": any(
            s.lesson.key == "performance" and s.lesson.to_khz >= s.chapter.ladder[-1] for s in history.steps
        ),
        "hit_bottom": any(s.lesson.key == "power" and s.lesson.to_khz <= s.chapter.ladder[0] for s in history.steps),
        "changed": any(chapter.left != (chapter.before or chapter.untaught) for chapter in history.chapters),
        "agrees": not history.doubts,
        "last_us": (taught[-1].at_us or 0) if taught else 0,
    }
