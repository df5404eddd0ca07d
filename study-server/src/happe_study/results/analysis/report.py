# SPDX-License-Identifier: GPL-2.0-or-later
"""A report: sections with text, tables, figures, and numbers for programs; and its form as HTML and JSON.

The same report gives the same bytes: they contain neither time nor host.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

MOST_WARNINGS = 20


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


def warnings(report: Report) -> list[str]:
    """The report's first twenty warnings, and the number of the others. results.json has all."""
    shown = list(report.warnings[:MOST_WARNINGS])
    rest = len(report.warnings) - len(shown)
    return shown + ([f"And {rest} more, which results.json lists."] if rest else [])


def html(report: Report) -> bytes:
    """The report as a single HTML page that needs no other file."""
    loader = PackageLoader("happe_study.results.analysis")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    images = {picture.key: _image(picture) for section in report.sections for picture in section.pictures}
    page = environment.get_template("report.html.j2").render(report=report, images=images, warnings=warnings(report))
    return page.encode()


def _image(picture: Picture) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture.svg).decode()}"


def results(report: Report) -> bytes:
    """The numbers as JSON. Raises ValueError for NaN or infinity, which the report should have refused."""
    return (json.dumps(report.document(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def shown(report: Report) -> bytes:
    """The report's content for the server's page as JSON: everything except the figures' files."""
    document = {
        "title": report.title,
        "warnings": warnings(report),
        "facts": list(report.facts),
        "sections": [_shown_section(section) for section in report.sections],
    }
    return json.dumps(document, ensure_ascii=False).encode()


def _shown_section(section: Section) -> dict[str, Any]:
    fields = ("caption", "columns", "rows", "notes", "names")
    return {
        "key": section.key,
        "title": section.title,
        "weight": str(section.weight),
        "text": section.text,
        "refused": section.refused,
        "tables": [{name: getattr(table, name) for name in fields} for table in section.tables if table.rows],
        "pictures": [
            {"key": picture.key, "caption": picture.caption, "about": picture.about} for picture in section.pictures
        ],
    }
