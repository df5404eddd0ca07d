# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows traces to people and other programs: as curves, pictures and tables."""
