# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: what was recorded and measured of it, drawn on one axis."""
