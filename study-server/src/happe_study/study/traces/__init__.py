# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces in immutable parts."""
