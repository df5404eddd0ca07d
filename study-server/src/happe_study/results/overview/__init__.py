# SPDX-License-Identifier: GPL-2.0-or-later
"""How far studies are, and what needs somebody's attention."""
