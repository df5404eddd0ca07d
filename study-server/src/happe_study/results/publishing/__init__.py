# SPDX-License-Identifier: GPL-2.0-or-later
"""Data for others: a check that nobody can be recognised, and a Frictionless data package."""
