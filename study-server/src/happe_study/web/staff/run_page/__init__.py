# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: its record and its measured power, drawn on one time axis."""
