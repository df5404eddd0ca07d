# SPDX-License-Identifier: GPL-2.0-or-later
"""What a table of an export is: its columns, its rows, and who gets which of them when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from happe_study.access.rights import Right
from happe_study.design.study import StudyState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from sqlalchemy.orm import Session

    from happe_study.base.tables.columns import Column


@dataclass(frozen=True)
class Source:
    """What rows come from: a study, and the key that opens its records."""

    study_id: int
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Table:
    """A table: `read` gives the rows of a study, with the columns asked for, in an order that tells nothing.

    `blinded`: nobody gets any of it before the study is unblinded. `rights`: those that are needed, all of them.
    """

    name: str
    about: str
    columns: tuple[Column, ...]
    read: Callable[[Session, Source, Sequence[Column]], Iterator[tuple[Any, ...]]]
    blinded: bool = False
    rights: frozenset[Right] = frozenset({Right.EXPORT})

    def is_open(self, state: str) -> bool:
        """Whether anybody gets any of it in this state of the study."""
        return not self.blinded or state == StudyState.UNBLINDED

    def seen(self, state: str, rights: Collection[Right]) -> tuple[Column, ...]:
        """The columns that somebody with these rights gets in this state of the study; none without the rights."""
        if not (self.is_open(state) and self.rights <= frozenset(rights)):
            return ()
        return tuple(column for column in self.columns if state == StudyState.UNBLINDED or not column.blinded)
