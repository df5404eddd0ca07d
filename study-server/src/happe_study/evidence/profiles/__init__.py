# SPDX-License-Identifier: GPL-2.0-or-later
"""What was learned in runs."""
