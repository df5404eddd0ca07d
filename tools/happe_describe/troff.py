# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a manual page as troff, with the requests of man(7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_describe.page import Item, Paragraphs, Section, Subsection, Synopsis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_describe.page import Line, Page, Part

SPELLED = str.maketrans(
    {"\\": "\\(rs", "-": "\\-", "'": "\\(aq", '"': "\\(dq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
)
FONTS = {"bold": "B", "italic": "I"}


def written(page: Page) -> str:
    """Return the page as troff."""
    lines = [f'.TH "{spelled(page.name.upper())}" {page.section} "" "HAPPE {spelled(page.version)}"']
    before: Part = Section("")
    for part in page.parts:
        if isinstance(part, Paragraphs) and isinstance(before, Item | Paragraphs):
            lines.append(".PP")
        lines += _part(part)
        before = part
    return "\n".join(lines) + "\n"


def spelled(text: str) -> str:
    """Return a text for troff. Escapes characters that troff would change, and those beyond ASCII."""
    return "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text.translate(SPELLED))


def _part(part: Part) -> Iterator[str]:
    match part:
        case Section(title):
            yield f'.SH "{spelled(title)}"'
        case Subsection(title):
            yield f'.SS "{spelled(title)}"'
        case Synopsis(lines):
            for line in lines:
                yield from (_styled(line), ".br")
        case Item(term, text):
            yield from (".TP", _styled(term), *map(_line, text.splitlines()))
        case Paragraphs(text):
            yield from _paragraphs(text)


def _paragraphs(text: str) -> Iterator[str]:
    """Yield blocks of lines of one kind, to fill or to keep as they are. An empty line ends a paragraph."""
    between, example = False, False
    for line in text.splitlines():
        if not line:
            between = True
            continue
        if example and (between or not line.startswith("  ")):
            yield from (".EE", ".RE")
            example = False
        if between:
            yield ".PP"
            between = False
        if line.startswith("  ") and not example:
            yield from (".RS 4", ".EX")
            example = True
        yield _line(line.removeprefix("  ") if example else line)
    if example:
        yield from (".EE", ".RE")


def _line(text: str) -> str:
    """Return a line of text. Escapes a dot at its begin, which would make it a request."""
    return (r"\&" if text.startswith(".") else "") + spelled(text)


def _styled(line: Line) -> str:
    return "".join(
        rf"\f{FONTS[word.style]}{spelled(word.text)}\fR" if word.style else spelled(word.text) for word in line
    )
