# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows with a new random code. If another row has the code already, which is rare, this tries another code."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from happe_study.base.codes import new_code
from happe_study.base.database import Base

TRIES = 8

Row = TypeVar("Row", bound=Base)


def add(session: Session, make: Callable[[str], Row]) -> Row:
    """Insert the row that `make` returns for a new code. Raises IntegrityError after eight codes."""
    for left in reversed(range(TRIES)):
        row = make(new_code())
        try:
            with session.begin_nested():
                session.add(row)
        except IntegrityError:
            if not left:
                raise
        else:
            return row
    raise AssertionError
