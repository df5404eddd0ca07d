# SPDX-License-Identifier: GPL-2.0-or-later
"""A table of an export: its columns, its rows, and who may see which columns when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from happe_study.model.rights import Right
from happe_study.model.studies import StudyState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sqlalchemy.orm import Session

    from happe_study.base.tables.columns import Column


@dataclass(frozen=True)
class Source:
    """The source of rows: a study, and the allocation key, which opens its records."""

    study_id: int
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Table:
    """A table. `read` gives a study's rows with the given columns, in an order that reveals nothing.

    `blinded`: nobody may see the table before the study is unblinded. `rights`: a caller needs all of these.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    read: Callable[[Session, Source, Sequence[Column]], Iterator[tuple[Any, ...]]]
    blinded: bool = False
    rights: frozenset[Right] = frozenset({Right.EXPORT})

    def is_open(self, state: str) -> bool:
        """Whether anybody may see the table in this state of the study."""
        return not self.blinded or state == StudyState.UNBLINDED

    def seen(self, state: str, rights: Collection[Right]) -> tuple[Column, ...]:
        """The columns that somebody with these rights may see in this state of the study; empty if none."""
        if not (self.is_open(state) and self.rights <= frozenset(rights)):
            return ()
        return tuple(column for column in self.columns if state == StudyState.UNBLINDED or not column.blinded)
