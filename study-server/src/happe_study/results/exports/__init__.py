# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's data as files: which columns there are, who sees which when, and the three formats."""
