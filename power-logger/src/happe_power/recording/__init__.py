# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes traces: docs/decisions.md. trace.py reads them."""
