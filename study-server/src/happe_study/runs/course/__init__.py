# SPDX-License-Identifier: GPL-2.0-or-later
"""The course of a run: it is planned, started, ended, rated, guessed and recorded; or aborted and planned again."""
