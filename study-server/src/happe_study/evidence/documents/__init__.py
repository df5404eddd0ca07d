# SPDX-License-Identifier: GPL-2.0-or-later
"""Measured power and power models: read, and kept for a study's analysis."""
