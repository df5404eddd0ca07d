# SPDX-License-Identifier: GPL-2.0-or-later
"""Arithmetic of power, time and uncertainty. Pure: no file, clock or log; time is an argument."""
