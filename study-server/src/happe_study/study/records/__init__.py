# SPDX-License-Identifier: GPL-2.0-or-later
"""Laptops' records of runs: reading, checking, sealing and storing them."""
