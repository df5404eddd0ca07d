# SPDX-License-Identifier: GPL-2.0-or-later
"""The course of a run: planning, start, end, rating, guess and record; or aborting it and planning another."""
