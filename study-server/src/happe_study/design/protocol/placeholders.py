# SPDX-License-Identifier: GPL-2.0-or-later
"""The places in the shipped protocols that must be filled in, and the search for them in a protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The texts as in the files. A short one includes the words before it, because other capitals are not placeholders.
_SHIPPED = (
    ("", "NAME OF THE GROUP"),
    ("", "NAME OF THE INSTITUTION"),
    ("", "COMPENSATION, IF ANY"),
    ("until", "DATE"),
    ("", "NUMBER OF YEARS"),
    ("years at", "PLACE"),
    ("Ask", "NAME"),
    ("", "E-MAIL"),
    ("", "TELEPHONE"),
    ("", "NAME AND ADDRESS OF THE DATA PROTECTION OFFICER"),
    ("", "NAME AND ADDRESS OF THE ETHICS BOARD"),
    ("study as", "NUMBER"),
)


def _pattern(before: str, words: str) -> str:
    """A pattern for the words, which may be on two lines. Its group is the part to fill in."""
    beginning, placeholder = (r"\s+".join(map(re.escape, each.split())) for each in (before, words))
    return rf"\b{beginning}\s+({placeholder})\b" if before else rf"\b({placeholder})\b"


_EVERY = [re.compile(_pattern(*each)) for each in _SHIPPED]


@dataclass(frozen=True)
class Placeholder:
    """A place that must still be filled in: its line, from 1, and its text."""

    line: int
    words: str

    @property
    def to_do(self) -> str:
        """The advice for it."""
        return f"{self.words} must still be filled in"


def left(text: str) -> list[Placeholder]:
    """The places that must still be filled in, in the order of a protocol's TOML. Comments do not count."""
    found = (each for expression in _EVERY for each in expression.finditer(text) if not _is_comment(text, each.start()))
    return [
        Placeholder(text.count("\n", 0, each.start(1)) + 1, " ".join(each[1].split()))
        for each in sorted(found, key=lambda each: each.start(1))
    ]


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")
