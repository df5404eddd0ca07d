# SPDX-License-Identifier: GPL-2.0-or-later
"""The audit log over HTTP, for auditors: its entries in order, and its verification.

Every auditor sees every entry, because the chain needs all of them, but details only of the studies that they audit.
"""

from collections.abc import Callable
from typing import Annotated, Any

from apiflask import APIBlueprint
from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, Row, Select, and_, select
from sqlalchemy.orm import InstrumentedAttribute

from happe_study.base.fields import Closed
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, unprocessable
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.audit.verify import Fault, Head, noted_head, verify_log
from happe_study.model.rights import Right
from happe_study.model.rules import Caller, caller, staff

api = APIBlueprint("audit", __name__, url_prefix="/api/v1", tag="Audit")

Json = dict[str, Any]
MOST_ENTRIES = 500
GREATEST_NUMBER = 2**63 - 1


class EntriesPage(Closed):
    """The part of the log that a request asks for: the entries after the number `after`."""

    after: Annotated[int, Field(ge=0, le=GREATEST_NUMBER)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_ENTRIES)] = 100


class EntryOut(BaseModel):
    """An entry. `salt` (hexadecimal) and `detail` are null if erased, or of a study that the caller does not audit."""

    number: int
    at_us: int
    action: str
    detail_sha256: str
    chain_sha256: str
    erased: bool
    salt: Annotated[str | None, Field(description="null if not revealed")]
    detail: Annotated[dict[str, Any] | None, Field(description="null: erased, or not for this caller")]


class EntriesOut(BaseModel):
    """Entries in order; `next` is the `after` of the page that follows, null at the end of the log."""

    entries: list[EntryOut]
    next: int | None


class NotedHead(Closed):
    """A head that somebody noted earlier, as NUMBER:SHA256. It detects a log that was cut off or made again."""

    head: Annotated[
        Annotated[str, Field(max_length=100)] | None, Field(description="NUMBER:SHA256 of a head noted earlier")
    ] = None


class FaultOut(BaseModel):
    """A fault and the number of its entry; 0 means the log as a whole."""

    number: int
    fault: Fault


class ReportOut(BaseModel):
    """Whether the log is complete. Note `head` elsewhere. It lists at most 100 faults."""

    whole: bool
    entries: int
    erased: int
    head: Annotated[str, Field(description="NUMBER:SHA256 of the last entry")]
    faults: list[FaultOut]


@api.get("/audit")
@staff(Right.AUDIT_READ)
@api.input(EntriesPage, location="query")
@api.output(EntriesOut)
@api.doc(responses={422: "There is no such page."})
def list_entries(query_data: EntriesPage) -> Json:
    """Read the audit log, in order."""
    rows = entries(lambda number: number > query_data.after)
    after = rows.order_by(AuditEntry.number).limit(query_data.limit + 1)
    with parts().database.reading() as session:
        found = session.execute(after).all()
    page = found[: query_data.limit]
    following = page[-1].number if len(found) > len(page) else None
    return {"entries": [shown(row, caller()) for row in page], "next": following}


@api.get("/audit/verification")
@staff(Right.AUDIT_READ)
@api.input(NotedHead, location="query")
@api.output(ReportOut)
@api.doc(responses={422: "This is not a head."})
def verify_entries(query_data: NotedHead) -> Json:
    """Verify the whole audit log."""
    noted = _noted(query_data.head)
    with parts().database.reading() as session:
        return verify_log(session, noted).document()


def entries(wanted: Callable[[InstrumentedAttribute[int]], ColumnElement[bool]]) -> Select[*tuple[Any, ...]]:
    """A query for the entries with wanted numbers, and their details unless erased.

    The condition is on both tables: otherwise PostgreSQL would read every detail before the first wanted one.
    """
    entry = (AuditEntry.number, AuditEntry.at_us, AuditEntry.action, AuditEntry.detail_sha256, AuditEntry.chain_sha256)
    detail = (AuditDetail.salt, AuditDetail.detail, AuditDetail.study_id)
    its = and_(AuditDetail.number == AuditEntry.number, wanted(AuditDetail.number))
    return select(*entry, *detail).outerjoin(AuditDetail, its).where(wanted(AuditEntry.number))


def shown(row: Row[Any], who: Caller) -> Json:
    """An entry as the caller may see it."""
    erased = row.salt is None
    seen = not erased and who.may(Right.AUDIT_READ, row.study_id)
    fields = {name: getattr(row, name) for name in ("number", "at_us", "action", "detail_sha256", "chain_sha256")}
    hidden = {"salt": row.salt.hex(), "detail": row.detail} if seen else {"salt": None, "detail": None}
    return fields | {"erased": erased} | hidden


def _noted(text: str | None) -> Head | None:
    if text is None:
        return None
    try:
        return noted_head(text)
    except ValueError as error:
        raise unprocessable("This is not a head.", FieldError("query: head", str(error))) from None
