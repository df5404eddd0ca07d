# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulated twin of each instrument, behind the same seam as the real one."""
