# SPDX-License-Identifier: GPL-2.0-or-later
"""The auditor's pages: the log with the newest entries first, and its verification."""

import json
from typing import Any

from flask import Blueprint, Response, request, url_for
from sqlalchemy import true

from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.model.audit import filters
from happe_study.model.audit.models import AuditEntry
from happe_study.model.audit.verify import Fault, Head, noted_head, verify_log
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.web.api.audit import entries, shown
from happe_study.web.staff_page import mistake, page

pages = Blueprint("audit_pages", __name__)

ROWS = 50
MOST_DIGITS = 18
FAULTS = {
    Fault.GAP: "entries before this one are missing",
    Fault.REORDERED: "it does not continue the entry before it",
    Fault.CHANGED: "it, or the entry before it, was changed",
    Fault.DETAIL: "its detail was changed",
    Fault.ERASED: "the number of missing details differs from the number that the log says were erased",
    Fault.HEAD: "the last entry is not the one that the log names as last",
    Fault.TRUNCATED: "the log ends before the head that you noted",
    Fault.NOTED: "it differs from the head that you noted",
}


@pages.get("/audit")
@staff(Right.AUDIT_READ)
def log() -> Response:
    """A page of the log, or of a search's results: the entries before the number `before`, newest first."""
    before = request.args.get("before", "")
    known = before.isascii() and before.isdigit() and len(before) <= MOST_DIGITS
    wanted, problem = filters.wanted(request.args)
    query = entries(lambda number: number < int(before) if known else true()).where(*wanted.conditions(caller()))
    with parts().database.reading() as session:
        rows = session.execute(query.order_by(AuditEntry.number.desc()).limit(ROWS + 1)).all()
    found = [shown(row, caller()) for row in rows[:ROWS]]
    older = found[-1]["number"] if len(rows) > ROWS else None
    facts: dict[str, Any] = {"entries": found, "older": older, "words": words, "newest": not before, "wanted": wanted}
    return page("audit", "Audit log", problem=problem, **facts)


@pages.get("/audit/verify")
@staff(Right.AUDIT_READ)
def verify() -> Response:
    """Verify the log. `head`: a head that was noted earlier, as NUMBER:SHA256."""
    text = request.args.get("head", "").strip()
    try:
        noted = noted_head(text) if text else None
    except ValueError:
        wrong = mistake("head", "Must be a number, a colon and 64 hexadecimal digits, as you noted it.")
        return _verified(None, text, wrong)
    return _verified(noted, text)


def _verified(noted: Head | None, text: str, problem: Problem | None = None) -> Response:
    with parts().database.reading() as session:
        report = verify_log(session, noted)
    trail = ((url_for("audit_pages.log"), "Audit log"),)
    facts: dict[str, Any] = {"report": report, "faults": FAULTS, "head": text, "noted": noted}
    return page("audit_verify", "Is the audit log complete?", trail=trail, problem=problem, **facts)


def words(value: object) -> str:
    """A detail's value as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
