# SPDX-License-Identifier: GPL-2.0-or-later
"""The program `happe-power`."""

from happe_power.cli.program import main

__all__ = ["main"]
