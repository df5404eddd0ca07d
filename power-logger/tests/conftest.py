# SPDX-License-Identifier: GPL-2.0-or-later
"""Hypothesis without deadlines."""

from hypothesis import settings

settings.register_profile("power-logger", deadline=None)  # the machine's load does not matter
settings.load_profile("power-logger")
