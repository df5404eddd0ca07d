# SPDX-License-Identifier: GPL-2.0-or-later
"""The program `happe-power` in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.cli.program import main
from in_process import Ran, run

if TYPE_CHECKING:
    from pathlib import Path


def happe_power(*arguments: str | Path) -> Ran:
    """Run `happe-power`."""
    return run(main, *arguments)
