# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding a study for good, or one run in an emergency."""
