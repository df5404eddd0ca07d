# SPDX-License-Identifier: GPL-2.0-or-later
"""A report as HTML and JSON. The same report gives the same bytes: they contain neither time nor host."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from happe_study.results.analysis.report import Picture, Report, Section

MOST_WARNINGS = 20


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
