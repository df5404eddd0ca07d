# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes traces: docs/adr/0016-spool-parts-and-threads.md. trace.py reads them."""
