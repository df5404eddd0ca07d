# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs and their participants: enrolment, ratings, guesses, records."""
