# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of a rig's alignment, calibration and comparisons. Pure: no file, clock or log; time is an argument."""
