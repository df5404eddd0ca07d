# SPDX-License-Identifier: GPL-2.0-or-later
"""Measuring the power of an unblinded study's runs from the sealed parts that the server stores."""
