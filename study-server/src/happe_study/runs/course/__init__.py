# SPDX-License-Identifier: GPL-2.0-or-later
"""The course of a run: planned, started, ended, rated, guessed, recorded; or aborted, and planned again."""
