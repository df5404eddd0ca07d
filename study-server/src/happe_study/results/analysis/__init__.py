# SPDX-License-Identifier: GPL-2.0-or-later
"""The analysis of an unblinded study: pure functions on tidy tables. docs/analysis.md has their assumptions."""
