# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of a study's data that find mistakes in the chain from a laptop's clock to a run's watts."""
