# SPDX-License-Identifier: GPL-2.0-or-later
"""What laptops recorded of runs: read, checked, sealed, kept."""
