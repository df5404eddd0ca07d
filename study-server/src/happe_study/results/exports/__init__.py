# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's data as files: tables and columns, who may see them when, and three formats."""
