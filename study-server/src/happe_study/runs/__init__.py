# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs: their states, ratings and records."""
