# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules for callers, and the common parts of all pages for staff."""
