# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts of staff, their rights, and tokens."""
