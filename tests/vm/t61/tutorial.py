# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of a tutorial, from its own text."""

import re
from pathlib import Path

BLOCK = re.compile(r"^(?: {4}.+\n)+", re.MULTILINE)


def blocks(page: Path, heading: str) -> list[str]:
    """The indented blocks of a page's section."""
    section = page.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [re.sub("^ {4}", "", block, flags=re.MULTILINE) for block in BLOCK.findall(section)]
