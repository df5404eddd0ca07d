# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile compared with all profiles of its application: its median and rank, and the outcomes of its runs.

A saving is 1 - watts / watts of the same participant's reference run of the application, as in Table A.1 of the paper.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from happe_contract import conditions as names
from happe_study.model.participants import GONE, Participant
from happe_study.model.profiles import Profile
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study import documents
from happe_study.study.profiles import services
from happe_study.study.profiles.searching import levels_of
from happe_study.study.protocol.reading import Protocol
from happe_study.study.runs.machine import State


@dataclass(frozen=True)
class Group:
    """The profiles of an application: their median and number; and one profile's rank, 1 for the most unusual."""

    median: tuple[int, ...]
    many: int
    place: int
    unusual: int  # per mille


def group_of(session: Session, one: Profile) -> Group:
    """The group of a profile, which includes the profile itself."""
    every = select(Profile).where(Profile.study_id == one.study_id, Profile.application == one.application)
    levels = levels_of(session, every)
    middle = services.median([khz for khz, many in levels for _ in range(many)])
    further = every.where(Profile.unusual > one.unusual).with_only_columns(func.count(), maintain_column_froms=True)
    place = 1 + (session.scalar(further) or 0)
    return Group(middle, sum(many for _, many in levels), place, services.unusual(one.khz, one.ladder, middle))


KINDS = ("rating", "watts", "saving")

Row = tuple[int, str, str, int | None]  # participant, run, condition, rating
Values = dict[tuple[str, str], list[float]]  # ascending, by condition and kind


@dataclass(frozen=True)
class Figure:
    """A value of a run, the median of its group, and its rank among `many`, 1 for the greatest."""

    value: float
    median: float
    place: int
    many: int


@dataclass(frozen=True)
class Outcome:
    """A run's rating, its mean watts, and the share of the reference's power that it saved."""

    run: str
    condition: str
    rating: Figure | None
    watts: Figure | None
    saving: Figure | None


def outcomes(session: Session, study: Study, protocol: Protocol, one: Profile) -> list[Outcome]:
    """The outcomes of the complete runs of a profile's participant and application, in the protocol's order."""
    labels = [condition.label for condition in protocol.conditions]
    base = reference(protocol)
    watts = documents.watts(session, study)
    rows = _rows(session, study, one.application, one.participant_id)
    group = _group(session, study, one.application, watts, base)
    mine = dict(_values(rows, watts, base))
    found = [
        Outcome(run, condition, *(_figure(mine.get((run, kind)), group[condition, kind]) for kind in KINDS))
        for _participant, run, condition, _rating in rows
    ]
    return sorted(found, key=lambda each: labels.index(each.condition))


def reference(protocol: Protocol) -> str:
    """The reference condition of savings."""
    return protocol.analysis.reference if protocol.analysis else names.ONDEMAND


def _figure(value: float | None, values: Sequence[float]) -> Figure | None:
    if value is None or not values:
        return None
    return Figure(value, median(values), len(values) - bisect_right(values, value) + 1, len(values))


def _group(session: Session, study: Study, application: str, watts: Mapping[str, float], base: str) -> Values:
    """All participants' values for an application, by condition and kind, ascending."""
    rows = _rows(session, study, application)
    conditions = {run: condition for _participant, run, condition, _rating in rows}
    found: Values = defaultdict(list)
    for (run, kind), value in _values(rows, watts, base):
        found[conditions[run], kind].append(value)
    for values in found.values():
        values.sort()
    return found


def _rows(session: Session, study: Study, application: str, participant_id: int | None = None) -> list[Row]:
    """The complete runs of an application, without participants who withdrew or were replaced."""
    columns = select(Run.participant_id, Run.code, Run.condition, Run.rating)
    mine = columns.join(Participant, Participant.id == Run.participant_id)
    mine = mine.where(Run.application == application, Run.state == State.COMPLETE, Run.condition.is_not(None))
    mine = mine.where(Participant.state.not_in(GONE))
    # Only one of the two conditions, so that a database without statistics chooses the smaller index.
    whose = Run.study_id == study.id if participant_id is None else Run.participant_id == participant_id
    rows = session.execute(mine.where(whose))
    return [(participant, run, condition or "", rating) for participant, run, condition, rating in rows]


def _values(rows: Sequence[Row], watts: Mapping[str, float], base: str) -> Iterable[tuple[tuple[str, str], float]]:
    """Each known value, with its run and kind."""
    whole = {participant: watts.get(run) for participant, run, condition, _rating in rows if condition == base}
    for participant, run, condition, rating in rows:
        if rating is not None:
            yield (run, "rating"), rating
        if run in watts:
            yield (run, "watts"), watts[run]
            if condition != base and (reference_w := whole.get(participant)):
                yield (run, "saving"), 1 - watts[run] / reference_w
