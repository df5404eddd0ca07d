# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols: their fields, reading them with all errors of a file, and the conditions and orders of their runs."""
