# SPDX-License-Identifier: GPL-2.0-or-later
"""Publishing data: a check that nobody can recognise participants, and a Frictionless data package."""
