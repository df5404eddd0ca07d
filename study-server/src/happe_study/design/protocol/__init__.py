# SPDX-License-Identifier: GPL-2.0-or-later
"""Protocols: what may stand in one, what is wrong with one, and the conditions and orders it has."""
