# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows under a fresh random code: made again in the rare case that the code is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from sqlalchemy.exc import IntegrityError

from happe_study.base.codes import new_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from happe_study.base.database import Base

TRIES = 8

Row = TypeVar("Row", bound="Base")


def add(session: Session, make: Callable[[str], Row]) -> Row:
    """The row that `make` makes of a code, written. Raises IntegrityError if it is refused with eight codes."""
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
