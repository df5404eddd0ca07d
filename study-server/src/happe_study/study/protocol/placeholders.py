# SPDX-License-Identifier: GPL-2.0-or-later
"""The placeholders of the shipped protocols, such as <NAME OF THE GROUP>, that a protocol still contains."""

import re
from dataclasses import dataclass

_COMMENT_OR_PLACEHOLDER = re.compile(r"^[ \t]*#.*|<([A-Z][A-Z,\s-]*)>", re.MULTILINE)


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
    found, line, at = [], 1, 0
    for each in _COMMENT_OR_PLACEHOLDER.finditer(text):
        line, at = line + text.count("\n", at, each.start()), each.start()
        if each[1]:
            found.append(Placeholder(line, " ".join(each[1].split())))
    return found
