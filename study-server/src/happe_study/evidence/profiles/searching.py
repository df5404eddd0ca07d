# SPDX-License-Identifier: GPL-2.0-or-later
"""Searching a study's profiles: conditions, order, and pages of the result."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from sqlalchemy import Select, String, and_, cast, false, func, or_, select, tuple_
from sqlalchemy.orm import InstrumentedAttribute

from happe_study.access.rules import caller
from happe_study.base.codes import is_code
from happe_study.base.problems import FieldError, unprocessable
from happe_study.evidence.profiles import assignments, reviews
from happe_study.evidence.profiles.models import Profile
from happe_study.runs.records.demand import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from happe_study.design.protocol.reading import Protocol

ROWS = 50
MOST_ROWS = 200
LONGEST_CURSOR = 400
MHZ = 1000  # kHz
MOST_MHZ = 20_000

Text = Annotated[str, Field(max_length=100)]


def _none_if_empty(value: object) -> object:
    """Turn a form's empty field into None."""
    return None if value == "" else value


class Wanted(BaseModel):
    """A search for profiles. Empty fields do not restrict it. The form and the API use the same fields."""

    model_config = ConfigDict(extra="forbid")

    q: Text = ""
    participant: Annotated[str, Field(max_length=16)] = ""
    application: Text = ""
    condition: Text = ""
    marked: Literal["", "flagged", "unflagged", "noted", "unreviewed", "reviewed", "assigned"] = ""
    keys: Literal["", "none", "performance", "power", "both"] = ""
    end: Literal["", "top", "bottom"] = ""
    change: Literal["", "changed", "unchanged"] = ""
    check: Literal["", "agrees", "disagrees"] = ""
    level: Annotated[Annotated[int, Field(ge=0, lt=LEVELS)] | None, BeforeValidator(_none_if_empty)] = None
    above_mhz: Annotated[Annotated[int, Field(ge=0, le=MOST_MHZ)] | None, BeforeValidator(_none_if_empty)] = None
    sort: Literal["participant", "presses", "latest", "highest", "unusual"] = "participant"

    def said(self) -> dict[str, Any]:
        """The fields that differ from their defaults, for an address."""
        return {
            name: value for name, value in self if value not in ("", None) and (name, value) != ("sort", "participant")
        }


@dataclass(frozen=True)
class Found:
    """A page of profiles, the cursor of the next page, and the number of profiles on all pages."""

    rows: Sequence[Profile]
    following: str | None
    count: int


Place = tuple[int, str, str]  # a row's sort key: the order's number (or 0), participant, application

# The column of each order, greatest first. Participant and application decide between equal values.
ORDERS: dict[str, InstrumentedAttribute[int]] = {
    "presses": Profile.presses,
    "latest": Profile.last_us,
    "highest": Profile.highest_khz,
    "unusual": Profile.unusual,
}
Order = InstrumentedAttribute[int] | None  # None: by participant and application


def matching(study_id: int, protocol: Protocol, wanted: Wanted) -> Select[Profile]:
    """A query for the profiles that match a search, without an order."""
    return select(Profile).where(Profile.study_id == study_id, *_conditions(protocol, wanted))


def found(  # noqa: PLR0913 - a page of a list
    session: Session, study_id: int, protocol: Protocol, wanted: Wanted, part: Part, *, count: int | None = None
) -> Found:
    """A page of a search's result. `count`: the number of all matches, if known. Problem 422: a wrong cursor."""
    every = matching(study_id, protocol, wanted)
    if count is None:
        count = session.scalar(every.with_only_columns(func.count(), maintain_column_froms=True)) or 0
    order = ORDERS.get(wanted.sort)
    query = every if part.cursor is None else every.where(_beyond(order, _read(part.cursor)))
    query = query.order_by(*_sorted(order))
    rows = session.scalars(query.limit(part.limit + 1)).all() if count else []
    more, rows = len(rows) > part.limit, rows[: part.limit]
    return Found(rows, _cursor(order, rows[-1]) if more else None, count)


def beside(
    session: Session, study_id: int, protocol: Protocol, wanted: Wanted, one: Profile
) -> tuple[Profile | None, Profile | None]:
    """The profiles before and after one, in the order of a search; None where there is none."""
    every, order = matching(study_id, protocol, wanted), ORDERS.get(wanted.sort)
    place = _place(order, one)
    before, after = (
        every.where(_beyond(order, place, back=back)).order_by(*_sorted(order, back=back)).limit(1)
        for back in (True, False)
    )
    return session.scalars(before).first(), session.scalars(after).first()


def levels_of(session: Session, query: Select[Profile]) -> list[tuple[list[int], int]]:
    """The different levels of a query's profiles, each with its number of profiles. The database counts equal texts."""
    text = cast(Profile.khz, String)
    counted = query.with_only_columns(text, func.count(), maintain_column_froms=True).group_by(text)
    return [(json.loads(levels), count) for levels, count in session.execute(counted)]


class Part(BaseModel):
    """The part of a list that a request asks for. `cursor` is the field `next` of the previous part."""

    model_config = ConfigDict(extra="forbid")

    cursor: Annotated[str, Field(max_length=LONGEST_CURSOR)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = ROWS


def _conditions(protocol: Protocol, wanted: Wanted) -> list[ColumnElement[bool]]:
    found = [condition(getattr(wanted, name)) for name, condition in SIMPLE.items() if getattr(wanted, name)]
    if wanted.q:
        found.append(_search(protocol, wanted.q.strip()))
    if wanted.participant:
        found.append(Profile.participant == wanted.participant if is_code(wanted.participant) else false())
    if wanted.above_mhz is not None:
        level = LEVELS - 1 if wanted.level is None else wanted.level  # level 9 is the highest of all
        found.append(Profile.khz[level].as_integer() > wanted.above_mhz * MHZ)
    return found


def _search(protocol: Protocol, text: str) -> ColumnElement[bool]:
    """An SQL condition: the participant's code begins with the text, or the application's key or name contains it."""
    those = [one.key for one in protocol.applications if text.lower() in f"{one.key} {one.name}".lower()]
    begins = text.isascii() and text.isalnum()
    code = Profile.participant.startswith(text.upper(), autoescape=True) if begins else false()
    return or_(code, Profile.application.in_(those))


def _taught_in(label: str) -> ColumnElement[bool]:
    """An SQL condition: a run under this condition has taught the profile."""
    return Profile.taught_in.contains(f" {label.strip()} ", autoescape=True)


KEYS = {
    "none": Profile.presses == 0,
    "performance": and_(Profile.performance > 0, Profile.power == 0),
    "power": and_(Profile.performance == 0, Profile.power > 0),
    "both": and_(Profile.performance > 0, Profile.power > 0),
}


def _marked(mark: str) -> ColumnElement[bool]:
    if mark in {"reviewed", "unreviewed"}:
        mine = reviews.judged_by(caller().id)
        return mine if mark == "reviewed" else ~mine
    if mark == "assigned":
        return and_(assignments.assigned_to(caller().id), ~reviews.judged_by(caller().id))
    known: dict[str, Any] = {"flagged": Profile.flagged, "unflagged": ~Profile.flagged, "noted": Profile.notes > 0}
    found: ColumnElement[bool] = known[mark]
    return found


SIMPLE: dict[str, Any] = {
    "application": lambda key: Profile.application == key,
    "condition": _taught_in,
    "marked": _marked,
    "keys": KEYS.get,
    "end": {"top": Profile.hit_top, "bottom": Profile.hit_bottom}.get,
    "change": {"changed": Profile.changed, "unchanged": ~Profile.changed}.get,
    "check": {"agrees": Profile.agrees, "disagrees": ~Profile.agrees}.get,
}


def _sorted(order: Order, *, back: bool = False) -> list[ColumnElement[Any]]:
    """The columns that sort rows: ascending by names, or descending by a number and names. `back` reverses it."""
    columns: list[Any] = [Profile.participant, Profile.application]
    if order is not None:
        columns.insert(0, order)
    return [each.desc() for each in columns] if (order is not None) != back else columns


def _beyond(order: Order, place: Place, *, back: bool = False) -> ColumnElement[bool]:
    """An SQL condition: the row comes after a place in an order, or with `back` before it."""
    names = (Profile.participant, Profile.application)
    columns, values = (tuple_(*names), place[1:]) if order is None else (tuple_(order, *names), place)
    return columns < values if (order is not None) != back else columns > values


def _place(order: Order, row: Profile) -> Place:
    return (0 if order is None else getattr(row, order.key), row.participant, row.application)


def _cursor(order: Order, last: Profile) -> str:
    place = json.dumps(_place(order, last), separators=(",", ":"))
    return base64.urlsafe_b64encode(place.encode()).rstrip(b"=").decode()


def _read(cursor: str) -> Place:
    try:
        value, code, application = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, TypeError):
        value, code, application = None, None, None
    texts = isinstance(code, str) and is_code(code) and isinstance(application, str) and "\0" not in application
    if type(value) is not int or not 0 <= value < 1 << 62 or not texts:
        raise unprocessable("There is no such page.", FieldError("query: cursor", "is not a cursor of this server"))
    return value, code, application
