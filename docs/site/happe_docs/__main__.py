# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: python -m happe_docs PROGRAMS FOLDER. Makes FOLDER the sources of the site, from the tree it is in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from happe_docs.manuals import ManualError
from happe_docs.site import assemble

ROOT = Path(__file__).resolve().parents[3]
ARGUMENTS = 2


def main(arguments: list[str]) -> int:
    """Run; the exit status."""
    if len(arguments) != ARGUMENTS:
        print("usage: python -m happe_docs PROGRAMS FOLDER", file=sys.stderr)
        return os.EX_USAGE
    try:
        assemble(ROOT, Path(arguments[0]), Path(arguments[1]))
    except (ManualError, OSError) as error:
        print(f"happe_docs: {error}", file=sys.stderr)
        return os.EX_SOFTWARE
    return os.EX_OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
