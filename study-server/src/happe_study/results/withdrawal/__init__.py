# SPDX-License-Identifier: GPL-2.0-or-later
"""Withdrawal: erasing a participant's data, or de-identifying it. Retention: de-identifying after a date."""
