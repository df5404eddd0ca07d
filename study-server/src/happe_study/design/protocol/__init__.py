# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols: their fields, the errors in a file, and the conditions and orders that they lead to."""
