# SPDX-License-Identifier: GPL-2.0-or-later
"""The columns of a table. The server writes only listed columns."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import ColumnElement

Sql = ColumnElement[Any] | InstrumentedAttribute[Any]


class Kind(StrEnum):
    """A column's type. Times are integers: microseconds."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True)
class Column:
    """A column. In a table read directly from the database, its value is `sql`, or `of(sql)` where `of` is set.

    `blinded`: nobody sees the column until the study is unblinded.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    sql: Sql | None = None
    of: Callable[[Any], Any] | None = None
    blinded: bool = False
