# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding: of a study for good, of one run in an emergency."""
