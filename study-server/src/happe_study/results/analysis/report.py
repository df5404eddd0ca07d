# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a report: sections with text, tables, figures, and numbers for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class Weight(StrEnum):
    """The kind of evidence that a section gives."""

    PAPER = "as in the paper"
    CONFIRMATORY = "confirmatory"
    ESTIMATED = "estimated"
    EXPLORATORY = "exploratory"
    DESCRIPTIVE = "descriptive"


@dataclass(frozen=True)
class Table:
    """A table of texts. The first `names` columns are words, the others numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    names: int = 1


@dataclass(frozen=True)
class Picture:
    """A figure as an SVG file, and a description for readers who cannot see it."""

    key: str
    caption: str
    about: str
    svg: bytes


@dataclass(frozen=True)
class Section:
    """A section. `refused` has the reasons for missing figures."""

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
    """A whole report. `facts` are its sources; `warnings` come before everything else."""

    study: str
    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    sections: Sequence[Section] = field(default_factory=tuple)

    def document(self) -> dict[str, Any]:
        """The numbers as JSON."""
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
