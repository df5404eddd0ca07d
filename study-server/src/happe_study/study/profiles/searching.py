# SPDX-License-Identifier: GPL-2.0-or-later
"""Searching a study's profiles: filters and orders. One table makes the form, the API and the query."""

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator
from sqlalchemy import Select, SQLColumnExpression, String, and_, cast, false, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from happe_study.base.codes import is_code
from happe_study.model.profiles import Profile
from happe_study.model.rules import caller
from happe_study.study.profiles import reviews
from happe_study.study.protocol.reading import Protocol
from happe_study.study.records.lessons import LEVELS

MOST_ROWS = 1000
MHZ = 1000  # kHz
MOST_MHZ = 20_000

Condition = SQLColumnExpression[bool]
Text = Annotated[str, Field(max_length=100)]


class Filter(NamedTuple):
    """A label, and by its value each choice's words and condition, given the id of the caller's account."""

    label: str
    choices: dict[str, tuple[str, Callable[[int], Condition]]]


def _left(me: int) -> Condition:
    return ~reviews.judged_by(me)


FILTERS = {
    "keys": Filter(
        "Taught by",
        {
            "none": ("no press at all", lambda _me: Profile.presses == 0),
            "performance": ("only presses of faster", lambda _me: and_(Profile.performance > 0, Profile.power == 0)),
            "power": ("only presses of save power", lambda _me: and_(Profile.performance == 0, Profile.power > 0)),
            "both": ("presses of both keys", lambda _me: and_(Profile.performance > 0, Profile.power > 0)),
        },
    ),
    "end": Filter(
        "At the ladder\N{RIGHT SINGLE QUOTATION MARK}s end",
        {
            "top": ("a press asked for the top", lambda _me: Profile.hit_top),
            "bottom": ("a press asked for the bottom", lambda _me: Profile.hit_bottom),
        },
    ),
    "change": Filter(
        "Changed by a run",
        {
            "changed": ("changed", lambda _me: Profile.changed),
            "unchanged": ("never changed", lambda _me: ~Profile.changed),
        },
    ),
    "marked": Filter(
        "Reviews",
        {
            "unreviewed": ("not reviewed by me", _left),
            "reviewed": ("reviewed by me", reviews.judged_by),
            "assigned": ("assigned to me, not reviewed by me", lambda me: and_(reviews.assigned_to(me), _left(me))),
            "flagged": ("flagged", lambda _me: Profile.flagged),
            "unflagged": ("not flagged", lambda _me: ~Profile.flagged),
            "noted": ("with notes", lambda _me: Profile.notes > 0),
        },
    ),
    "check": Filter(
        "Lessons and result",
        {
            "disagrees": ("don\N{RIGHT SINGLE QUOTATION MARK}t agree", lambda _me: ~Profile.agrees),
            "agrees": ("agree", lambda _me: Profile.agrees),
        },
    ),
}
# The words and the column of each order, greatest first. Participant and application decide between equal values.
ORDERS: dict[str, tuple[str, InstrumentedAttribute[int] | None]] = {
    "participant": ("by participant", None),
    "presses": ("most presses first", Profile.presses),
    "latest": ("last taught first", Profile.last_us),
    "highest": ("highest frequency first", Profile.highest_khz),
    "unusual": ("most unusual first", Profile.unusual),
}


def _none_if_empty(value: object) -> object:
    """Turn a form's empty field into None."""
    return None if value == "" else value


def _one_of(name: str) -> Any:  # noqa: ANN401 - pydantic's
    return Field(json_schema_extra={"enum": ["", *FILTERS[name].choices]})


class Wanted(BaseModel):
    """A search for profiles. Empty fields do not restrict it. The form and the API use the same fields."""

    model_config = ConfigDict(extra="forbid")

    q: Text = ""
    participant: Annotated[str, Field(max_length=16)] = ""
    application: Text = ""
    condition: Text = ""
    marked: Annotated[str, _one_of("marked")] = ""
    keys: Annotated[str, _one_of("keys")] = ""
    end: Annotated[str, _one_of("end")] = ""
    change: Annotated[str, _one_of("change")] = ""
    check: Annotated[str, _one_of("check")] = ""
    level: Annotated[Annotated[int, Field(ge=0, lt=LEVELS)] | None, BeforeValidator(_none_if_empty)] = None
    above_mhz: Annotated[Annotated[int, Field(ge=0, le=MOST_MHZ)] | None, BeforeValidator(_none_if_empty)] = None
    sort: Annotated[str, Field(json_schema_extra={"enum": [*ORDERS]})] = "participant"

    @field_validator(*FILTERS, "sort")
    @classmethod
    def _is_a_choice(cls, value: str, about: ValidationInfo) -> str:
        name = about.field_name or ""
        known = ORDERS if name == "sort" else FILTERS[name].choices
        if value not in known and (value or name == "sort"):
            raise ValueError("must be one of the choices")
        return value

    def said(self) -> dict[str, Any]:
        """The fields that differ from their defaults, for an address."""
        return {name: value for name, value in self if value != type(self).model_fields[name].default}


def matching(study_id: int, protocol: Protocol, wanted: Wanted) -> Select[Profile]:
    """A query for the profiles that match a search, without an order."""
    return select(Profile).where(Profile.study_id == study_id, *_conditions(protocol, wanted))


def found(
    session: Session, study_id: int, protocol: Protocol, wanted: Wanted, limit: int = MOST_ROWS
) -> tuple[Sequence[Profile], int]:
    """The first profiles of a search in its order, and the number of all that match."""
    every = matching(study_id, protocol, wanted)
    count = session.scalar(every.with_only_columns(func.count(), maintain_column_froms=True)) or 0
    order = ORDERS[wanted.sort][1]
    names = (Profile.participant, Profile.application)
    ordered = every.order_by(*names) if order is None else every.order_by(*(each.desc() for each in (order, *names)))
    return session.scalars(ordered.limit(limit)).all() if count else [], count


def levels_of(session: Session, query: Select[Profile]) -> list[tuple[list[int], int]]:
    """The different levels of a query's profiles, each with its number of profiles. The database counts equal texts."""
    text = cast(Profile.khz, String)
    counted = query.with_only_columns(text, func.count(), maintain_column_froms=True).group_by(text)
    return [(json.loads(levels), count) for levels, count in session.execute(counted)]


def _conditions(protocol: Protocol, wanted: Wanted) -> list[Condition]:
    chosen = {name: getattr(wanted, name) for name in FILTERS if getattr(wanted, name)}
    found = [FILTERS[name].choices[value][1](caller().id) for name, value in chosen.items()]
    if wanted.q:
        found.append(_search(protocol, wanted.q.strip()))
    if wanted.participant:
        found.append(Profile.participant == wanted.participant if is_code(wanted.participant) else false())
    if wanted.application:
        found.append(Profile.application == wanted.application)
    if wanted.condition:  # a run under it has taught the profile
        found.append(Profile.taught_in.contains(f" {wanted.condition.strip()} ", autoescape=True))
    if wanted.above_mhz is not None:
        level = LEVELS - 1 if wanted.level is None else wanted.level  # level 9 is the highest of all
        found.append(Profile.khz[level].as_integer() > wanted.above_mhz * MHZ)
    return found


def _search(protocol: Protocol, text: str) -> Condition:
    """An SQL condition: the participant's code begins with the text, or the application's key or name contains it."""
    those = [one.key for one in protocol.applications if text.lower() in f"{one.key} {one.name}".lower()]
    begins = text.isascii() and text.isalnum()
    code = Profile.participant.startswith(text.upper(), autoescape=True) if begins else false()
    return or_(code, Profile.application.in_(those))
