# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents for a study's analysis: reading and storing measured power and power models."""
