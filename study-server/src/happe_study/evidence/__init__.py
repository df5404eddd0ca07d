# SPDX-License-Identifier: GPL-2.0-or-later
"""What shows how a run went: power traces, what was learned, and whether one bears out the other."""
