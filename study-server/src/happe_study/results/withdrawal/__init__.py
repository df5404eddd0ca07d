# SPDX-License-Identifier: GPL-2.0-or-later
"""Withdrawal: a participant's data erased, or kept without saying whose they are."""
