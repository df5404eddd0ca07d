# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles: what HAPPE learned in runs."""
