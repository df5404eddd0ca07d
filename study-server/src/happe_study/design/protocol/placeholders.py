# SPDX-License-Identifier: GPL-2.0-or-later
"""What the protocols that ship leave to be filled in, and where it still stands in a protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass

# As they stand in the files. A short one goes with the words before it: other capitals are nobody's mistake.
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
    """An expression for the words, which may stand on two lines; what is to be filled in is its group."""
    beginning, placeholder = (r"\s+".join(map(re.escape, each.split())) for each in (before, words))
    return rf"\b{beginning}\s+({placeholder})\b" if before else rf"\b({placeholder})\b"


_EVERY = [re.compile(_pattern(*each)) for each in _SHIPPED]


@dataclass(frozen=True)
class Placeholder:
    """Something that is still to be filled in: its line, from 1, and its words."""

    line: int
    words: str

    @property
    def to_do(self) -> str:
        """What to do about it."""
        return f"{self.words} is still to be filled in"


def left(text: str) -> list[Placeholder]:
    """What is still to be filled in, in a protocol's TOML, from its beginning to its end. Comments don't count."""
    found = (each for expression in _EVERY for each in expression.finditer(text) if not _is_comment(text, each.start()))
    return [
        Placeholder(text.count("\n", 0, each.start(1)) + 1, " ".join(each[1].split()))
        for each in sorted(found, key=lambda each: each.start(1))
    ]


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")
