# SPDX-License-Identifier: GPL-2.0-or-later
"""A report as HTML, PDF and JSON. The same report gives the same bytes: nothing tells the time or the host."""

from __future__ import annotations

import base64
import io
import json
import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from happe_study.results.analysis.figures import INK, QUIET, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_study.results.analysis.report import Picture, Report, Section, Table

MOST_WARNINGS = 20
A4 = (8.27, 11.69)  # inches
MARGIN = 0.6
COLUMNS = 108  # characters of a line of text
POINTS = 7.5
TITLE_POINTS = 8.5  # of a figure
CHARACTER = 0.602  # width of DejaVu Sans Mono in ems
POINTS_PER_INCH = 72
LEADING = 1.45
GAP = 2  # spaces between columns


def warnings(report: Report) -> list[str]:
    """The report's warnings, the first twenty and how many more there are; results.json has them all."""
    shown = list(report.warnings[:MOST_WARNINGS])
    rest = len(report.warnings) - len(shown)
    return shown + ([f"And {rest} more, which results.json lists."] if rest else [])


def html(report: Report) -> bytes:
    """One page that needs nothing else."""
    loader = PackageLoader("happe_study.results.analysis")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    images = {picture.key: _image(picture) for section in report.sections for picture in section.pictures}
    page = environment.get_template("report.html.j2").render(report=report, images=images, warnings=warnings(report))
    return page.encode()


def _image(picture: Picture) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg(picture)).decode()}"


def svg(picture: Picture) -> bytes:
    """A figure by itself. To be asked for before the PDF, which writes captions into figures."""
    file = io.BytesIO()
    with mpl.rc_context(SETTINGS):
        picture.figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def results(report: Report) -> bytes:
    """The numbers as JSON. ValueError for a number that is none: it should have been refused."""
    return (json.dumps(report.document(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def shown(report: Report) -> bytes:
    """What a page of the server's shows of the report, as JSON: everything but the figures themselves."""
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
    """The report on A4 pages: text and tables, then each figure on a page of its own."""
    file = io.BytesIO()
    metadata = {"Title": f"{report.study}: analysis", "Creator": "happe-server analyse", "CreationDate": None}
    with mpl.rc_context(SETTINGS), PdfPages(file, metadata=metadata) as pages:
        for page in _pages(list(_lines(report))):
            pages.savefig(_drawn(page))
        for section in report.sections:
            for picture in section.pictures:
                title = "\n".join(textwrap.wrap(picture.caption, COLUMNS))
                own = picture.figure.get_suptitle()
                picture.figure.suptitle(f"{title}\n{own}" if own else title, fontsize=TITLE_POINTS)
                pages.savefig(picture.figure)
    return file.getvalue()


Line = tuple[str, float, bool, str]  # text, points, bold, colour


def _lines(report: Report) -> Iterator[Line]:
    yield report.title, 13, True, INK
    yield f"Analysis of the study {report.study}", 9, False, QUIET
    for each in warnings(report):
        yield from _paragraph(f"! {each}")
    for section in report.sections:
        yield from _section(section)
    yield from _heading("Made from")
    for name, value in report.facts:
        yield from _paragraph(f"{name}: {value}")


def _heading(text: str) -> Iterator[Line]:
    yield "", POINTS, False, INK
    yield text, 10.5, True, INK


def _section(section: Section) -> Iterator[Line]:
    yield from _heading(f"{section.title} ({section.weight})")
    for text in section.text:
        yield from _paragraph(text)
    for table in section.tables:
        if table.rows:
            yield from _table(table)
    for each in section.refused:
        yield from _paragraph(f"Refused: {each}")


def _paragraph(text: str) -> Iterator[Line]:
    for line in textwrap.wrap(text, COLUMNS):
        yield line, POINTS, False, QUIET


def _table(table: Table) -> Iterator[Line]:
    cells = [table.columns, *table.rows] if any(table.columns) else list(table.rows)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    points = min(POINTS, _fitting(sum(widths) + GAP * (len(widths) - 1)))
    yield "", POINTS / 2, False, INK
    yield table.caption, POINTS + 0.5, True, INK
    for n, row in enumerate(cells):
        padded = [
            cell.ljust(width) if k < table.names else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (" " * GAP).join(padded), points, n == 0 and any(table.columns), INK
    for note in table.notes:
        yield from _paragraph(note)


def _fitting(characters: int) -> float:
    """The size in points at which so many characters are as wide as the text."""
    return (A4[0] - 2 * MARGIN) * POINTS_PER_INCH / (CHARACTER * characters)


def _pages(lines: list[Line]) -> Iterator[list[Line]]:
    """Lines by page; a heading does not stand alone at a page's end."""
    room = (A4[1] - 2 * MARGIN) * POINTS_PER_INCH
    page: list[Line] = []
    used = 0.0
    for line in lines:
        height = line[1] * LEADING
        heading = line[2] and line[1] > POINTS + 1
        if page and (used + height > room or (heading and used + 8 * height > room)):
            yield page
            page, used = [], 0.0
        page.append(line)
        used += height
    yield page


def _drawn(lines: list[Line]) -> Figure:
    figure = Figure(figsize=A4)
    FigureCanvasAgg(figure)
    y = A4[1] - MARGIN
    for text, points, bold, color in lines:
        y -= points * LEADING / POINTS_PER_INCH
        weight = "bold" if bold else "normal"
        figure.text(
            MARGIN / A4[0], y / A4[1], text, family="DejaVu Sans Mono", fontsize=points, color=color, weight=weight
        )
    return figure
