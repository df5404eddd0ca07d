# SPDX-License-Identifier: GPL-2.0-or-later
"""The placeholders of the shipped protocols, and the search for those that a protocol still contains."""

import re
from dataclasses import dataclass

# (words before, placeholder) as in the files. A short placeholder needs its words before: other capitals match too.
_SHIPPED = (
    ("", "NAME OF THE GROUP"),
    ("", "NAME OF THE INSTITUTION"),
    ("", "COMPENSATION, IF ANY"),
    ("until", "DATE"),
    ("", "NUMBER OF YEARS"),
    ("years at", "PLACE"),
    ("Ask", "NAME"),
    ("to stop, tell", "NAME"),
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
    """A placeholder that nobody has filled in: its line, from 1, and its text."""

    line: int
    words: str

    @property
    def to_do(self) -> str:
        """What the protocol's author must do."""
        return f"{self.words} must still be filled in"


def left(text: str) -> list[Placeholder]:
    """The placeholders left in a protocol's TOML text, in order. Those in comments do not count."""
    found = (each for expression in _EVERY for each in expression.finditer(text) if not _is_comment(text, each.start()))
    return [
        Placeholder(text.count("\n", 0, each.start(1)) + 1, " ".join(each[1].split()))
        for each in sorted(found, key=lambda each: each.start(1))
    ]


def _is_comment(text: str, at: int) -> bool:
    return text[text.rfind("\n", 0, at) + 1 : at].lstrip().startswith("#")
