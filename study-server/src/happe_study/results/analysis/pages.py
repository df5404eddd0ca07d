# SPDX-License-Identifier: GPL-2.0-or-later
"""A report as HTML, PDF and JSON. The same report gives the same bytes: they contain neither time nor host."""

from __future__ import annotations

import base64
import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import typst
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


def pdf(report: Report) -> bytes:
    """The report as PDF on A4 pages; PDF/UA-1 if the fonts have all its letters."""
    document = json.loads(shown(report)) | {"study": report.study}
    drawn = {picture.key: picture.svg.decode() for section in report.sections for picture in section.pictures}
    for section in document["sections"]:
        section["pictures"] = [each | {"svg": drawn[each["key"]]} for each in section["pictures"]]
    inputs = {"report": json.dumps(document)}
    try:
        return _typeset(inputs, ["ua-1"])
    except typst.TypstError:  # no font has one of the letters
        return _typeset(inputs, [])


def _typeset(inputs: dict[str, str], standards: list[Any]) -> bytes:
    template = files("happe_study.results.analysis").joinpath("templates/report.typ").read_bytes()
    # DejaVu is matplotlib's own, for letters that the serif lacks. Fonts of the host would change the pages.
    fonts = typst.Fonts(include_system_fonts=False, font_paths=[Path(mpl.get_data_path(), "fonts/ttf")])
    compiler = typst.Compiler(template, font_paths=fonts, ignore_system_fonts=True, sys_inputs=inputs)
    made = compiler.compile(format="pdf", timestamp=0, pdf_standards=standards)
    if not isinstance(made, bytes):
        raise TypeError(type(made))
    return made
