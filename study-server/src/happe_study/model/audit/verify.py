# SPDX-License-Identifier: GPL-2.0-or-later
"""Verifying the audit log: no entry was changed, left out, reordered, or cut off at the end.

The chain alone can't show one thing: somebody who can write to the database can compute the whole chain again, or cut
its end off and set the head back. `verify` detects this with a head (`NUMBER:SHA256`) that somebody noted elsewhere.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_study.base.database import at_one_moment
from happe_study.model.audit.chain import GENESIS, detail_digest, link
from happe_study.model.audit.models import AuditDetail, AuditEntry, AuditHead

ERASED = "audit.erased"  # the action of an entry that records the number of erased details (`details`)
MOST_FAULTS = 100
ROWS_AT_ONCE = 1000

_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})")


class Fault(StrEnum):
    """The possible faults of a log."""

    GAP = "gap"  # the entries before this one are missing
    REORDERED = "reordered"  # this entry does not follow the previous one
    CHANGED = "changed"  # this entry has changed, or the previous one was replaced
    DETAIL = "detail-changed"  # this entry's detail is not what it was
    ERASED = "details-missing"  # the number of missing details differs from the number in the log
    HEAD = "head"  # the last entry is not the head
    TRUNCATED = "truncated"  # the log ends before the noted head
    NOTED = "noted-head"  # the entry of the noted head's number has another digest


@dataclass(frozen=True)
class Head:
    """A link of the chain: its number, from 1, and its digest. Number 0 is the empty log."""

    number: int
    chain_sha256: str

    def __str__(self) -> str:
        """As people note it: `NUMBER:SHA256`."""
        return f"{self.number}:{self.chain_sha256}"


@dataclass(frozen=True)
class Link:
    """An entry with its salt and detail, both None if they are erased."""

    number: int
    at_us: int
    action: str
    detail_sha256: str
    chain_sha256: str
    salt: bytes | None = None
    detail: dict[str, Any] | None = None


@dataclass
class Report:
    """The result. `faults` has the first 100 faults, each with the number of its entry."""

    entries: int = 0
    erased: int = 0
    head: Head = field(default_factory=lambda: Head(0, GENESIS))
    faults: list[tuple[int, Fault]] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def document(self) -> dict[str, object]:
        """The result as a JSON object."""
        faults = [{"number": number, "fault": fault} for number, fault in self.faults]
        counts = {"entries": self.entries, "erased": self.erased}
        return {"whole": self.is_whole, **counts, "head": str(self.head), "faults": faults}

    def complain(self, fault: Fault) -> None:
        """Note a fault at the present entry."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append((self.head.number, fault))


def noted_head(text: str) -> Head:
    """Read a noted head. ValueError if it is malformed."""
    matched = _HEAD.fullmatch(text.strip())
    if matched is None:
        raise ValueError("a head is noted as NUMBER:SHA256, with 64 hexadecimal digits")
    return Head(int(matched[1]), matched[2])


def verify(links: Iterable[Link], head: Head, noted: Head | None = None) -> Report:
    """Verify a whole log in its order. `head`: the stored one; `noted`: one that a person noted earlier.

    After a fault it trusts the stored digests, so that it reports each fault once, at its place.
    """
    report = Report()
    announced = 0
    for each in links:
        _look(report, each)
        announced += _announced(each)
        if noted and each.number == noted.number and not compare_digest(each.chain_sha256, noted.chain_sha256):
            report.complain(Fault.NOTED)
    if report.erased != announced:
        report.complain(Fault.ERASED)
    if report.head != head:
        report.complain(Fault.HEAD)
    if noted and noted.number > report.head.number:
        report.complain(Fault.TRUNCATED)
    return report


def verify_log(session: Session, noted: Head | None = None) -> Report:
    """Verify the whole log of the database, as it was at one moment, a thousand entries at a time."""
    at_one_moment(session)
    row = session.get_one(AuditHead, 1)
    return verify(_stored(session), Head(row.number, row.chain_sha256), noted)


def _look(report: Report, each: Link) -> None:
    before, report.head = report.head, Head(each.number, each.chain_sha256)
    report.entries += 1
    if each.number <= before.number:
        report.complain(Fault.REORDERED)
    elif each.number > before.number + 1:
        report.complain(Fault.GAP)
    elif each.chain_sha256 != link(before.chain_sha256, each.number, each.at_us, each.action, each.detail_sha256):
        report.complain(Fault.CHANGED)
    if each.salt is None or each.detail is None:
        report.erased += 1
    elif detail_digest(each.salt, each.detail) != each.detail_sha256:
        report.complain(Fault.DETAIL)


def _announced(each: Link) -> int:
    count = (each.detail or {}).get("details", 0) if each.action == ERASED else 0
    return count if isinstance(count, int) else 0


def _stored(session: Session) -> Iterator[Link]:
    entry = (AuditEntry.number, AuditEntry.at_us, AuditEntry.action, AuditEntry.detail_sha256, AuditEntry.chain_sha256)
    rows = select(*entry, AuditDetail.salt, AuditDetail.detail).outerjoin(
        AuditDetail, AuditDetail.number == AuditEntry.number
    )
    found = session.execute(rows.order_by(AuditEntry.number).execution_options(yield_per=ROWS_AT_ONCE))
    return (Link(*row) for row in found)
