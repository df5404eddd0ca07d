# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs and those who play them: enrolment, ratings, records."""
