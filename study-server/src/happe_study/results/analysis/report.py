# SPDX-License-Identifier: GPL-2.0-or-later
"""What a report is made of: sections of text, tables and figures, each with its numbers for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


class Weight(StrEnum):
    """What a section is worth as evidence."""

    PAPER = "as in the paper"
    CONFIRMATORY = "confirmatory"
    ESTIMATED = "estimated"
    EXPLORATORY = "exploratory"
    DESCRIPTIVE = "descriptive"


@dataclass(frozen=True)
class Table:
    """A table of texts; the first `names` columns are words, the others figures."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    names: int = 1


@dataclass(frozen=True)
class Picture:
    """A figure, and what it shows in words for readers who do not see it."""

    key: str
    caption: str
    about: str
    figure: Figure


@dataclass(frozen=True)
class Section:
    """A section. `refused` says why a figure that belongs here is not here."""

    key: str
    title: str
    weight: Weight
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    refused: tuple[str, ...] = ()
    data: Any = None


@dataclass(frozen=True)
class Report:
    """A whole report. `facts` are what it was made from; `warnings` are reported before anything else."""

    study: str
    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    sections: Sequence[Section] = field(default_factory=tuple)

    def document(self) -> dict[str, Any]:
        """The numbers, for programs."""
        return {
            "format": "happe-analysis/1",
            "study": self.study,
            "facts": dict(self.facts),
            "warnings": list(self.warnings),
            "sections": [
                {
                    "key": each.key,
                    "title": each.title,
                    "weight": str(each.weight),
                    "refused": list(each.refused),
                    "data": each.data,
                }
                for each in self.sections
            ],
        }
