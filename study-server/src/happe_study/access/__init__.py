# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may call what, and what all pages for staff have in common."""
