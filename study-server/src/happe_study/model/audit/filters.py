# SPDX-License-Identifier: GPL-2.0-or-later
"""A filter for entries of the audit log: by person, action, time and object.

A filter matches only entries that the caller may see. Otherwise its result would reveal the studies of others.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import ColumnElement, String, cast, or_, true

from happe_study.base.problems import FieldError, Problem, unprocessable
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.rights import RIGHTS, Right
from happe_study.model.rules import Caller

FIELDS = ("who", "what", "since", "until", "about")
LONGEST = 100
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Wanted:
    """A search of the log; empty fields match everything. `since` and `until` are days, UTC, both inclusive."""

    who: str = ""
    what: str = ""
    since: date | None = None
    until: date | None = None
    about: str = ""

    def said(self) -> dict[str, str]:
        """The fields that have a value, for the page's address."""
        every = ((name, getattr(self, name)) for name in FIELDS)
        return {name: str(value) for name, value in every if value}

    def conditions(self, caller: Caller) -> Iterator[ColumnElement[bool]]:
        """Conditions of a query that joins entries and their details."""
        if self.what:
            yield AuditEntry.action.contains(self.what, autoescape=True)
        if self.since:
            yield AuditEntry.at_us >= _us(self.since)
        if self.until:
            yield AuditEntry.at_us < _us(self.until + DAY)
        if self.who or self.about:
            yield _seen(caller)
        if self.who:
            yield AuditDetail.detail["by"].as_string().contains(self.who, autoescape=True)
        if self.about:
            yield cast(AuditDetail.detail, String).contains(self.about, autoescape=True)


def wanted(values: Mapping[str, str]) -> tuple[Wanted, Problem | None]:
    """The search that an address asks for, and its mistakes. A field with a mistake is empty."""
    wrong: list[FieldError] = []
    said = {name: values.get(name, "").strip() for name in FIELDS}
    for name, text in said.items():
        if len(text) > LONGEST or not text.isprintable():
            wrong.append(FieldError(f"/{name}", f"Must be one line of at most {LONGEST} characters."))
    days = {name: _day(name, said[name], wrong) for name in ("since", "until")}
    texts = {name: "" if any(each.pointer == f"/{name}" for each in wrong) else said[name] for name in FIELDS}
    found = Wanted(texts["who"], texts["what"], days["since"], days["until"], texts["about"])
    return found, unprocessable(
        "The log can\N{RIGHT SINGLE QUOTATION MARK}t be searched for this.", *wrong
    ) if wrong else None


def _day(name: str, text: str, wrong: list[FieldError]) -> date | None:
    if not text or len(text) > LONGEST:
        return None
    try:
        day = date.fromisoformat(text)
        _us(day + DAY)
    except (ValueError, OverflowError):
        wrong.append(FieldError(f"/{name}", "Must be a day, such as 2026-03-21."))
        return None
    return day


def _us(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000_000


def _seen(caller: Caller) -> ColumnElement[bool]:
    """An SQL condition: the caller may see the detail."""
    studies = {study for role, study in caller.roles if Right.AUDIT_READ in RIGHTS[role]}
    if None in studies:
        return true()
    return or_(*(AuditDetail.study_id == study for study in studies))
