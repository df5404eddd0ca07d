# SPDX-License-Identifier: GPL-2.0-or-later
"""Text as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\*_<>\[\]#|{}])")
_BAR = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"(`[^`]+`)")


def escaped(text: str) -> str:
    """Text that is shown as it is, except for `code` between backticks."""
    parts = _CODE.split(text)
    return "".join(part if at % 2 else _SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))


def code(text: str) -> str:
    """Text as code."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def cell(text: str) -> str:
    """Text in a cell of a table, where even in code a | must be spelled."""
    return _BAR.sub(r"\|", escaped(" ".join(text.split())))


def code_cell(text: str) -> str:
    """Code in a cell of a table; nothing if there is none."""
    return code(_BAR.sub(r"\|", text)) if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose cells are Markdown; nothing without rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *lines, ""]) if lines else ""
