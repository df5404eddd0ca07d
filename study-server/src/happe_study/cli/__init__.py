# SPDX-License-Identifier: GPL-2.0-or-later
"""The program `happe-server`."""

from happe_study.cli.program import main

__all__ = ["main"]
