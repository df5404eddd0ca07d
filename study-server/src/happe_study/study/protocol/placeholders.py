# SPDX-License-Identifier: GPL-2.0-or-later
"""The placeholders of the shipped protocols, such as <NAME OF THE GROUP>, that a protocol still contains."""

import re
from dataclasses import dataclass

_PLACEHOLDER = re.compile(r"<([A-Z][A-Z,\s-]*)>")


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
    return [
        Placeholder(text.count("\n", 0, each.start()) + 1, " ".join(each[1].split()))
        for each in _PLACEHOLDER.finditer(text)
        if not text[text.rfind("\n", 0, each.start()) + 1 :].lstrip().startswith("#")
    ]
