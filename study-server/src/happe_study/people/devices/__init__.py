# SPDX-License-Identifier: GPL-2.0-or-later
"""Laptops and measuring hosts."""
