# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages of a list, ordered by random codes. The order reveals nothing about times of creation."""

import base64
import binascii
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Select
from sqlalchemy.orm import InstrumentedAttribute, Session

from happe_study.base.codes import is_code
from happe_study.base.problems import FieldError, unprocessable

MOST_ROWS = 200

Row = TypeVar("Row")


class Page(BaseModel):
    """The part of a list that a request asks for. `cursor` is the field `next` of the previous page."""

    model_config = ConfigDict(extra="forbid")

    cursor: Annotated[str, Field(max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 50


def rows_after(
    session: Session, query: Select[Row], code: InstrumentedAttribute[str], page: Page
) -> tuple[list[Row], str | None]:
    """A page of a query's rows, and the cursor of the next page (None after the last). Problem 422: a wrong cursor.

    If a row comes while a client reads page by page, it appears on a later page, or belongs to one already read.
    """
    if page.cursor is not None:
        query = query.where(code > _code(page.cursor))
    rows = list(session.scalars(query.order_by(code).limit(page.limit + 1)))
    more = len(rows) > page.limit
    rows = rows[: page.limit]
    return rows, cursor_after(getattr(rows[-1], code.key)) if more else None


def cursor_after(code: str) -> str:
    """The cursor after the row with this code."""
    return base64.urlsafe_b64encode(code.encode()).rstrip(b"=").decode()


def _code(cursor: str) -> str:
    try:
        code = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except (binascii.Error, ValueError):
        code = ""
    if not is_code(code):
        raise unprocessable("There is no such page.", FieldError("query: cursor", "is not a cursor of this server"))
    return code
