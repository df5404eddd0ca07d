# SPDX-License-Identifier: GPL-2.0-or-later
"""The progress of studies, and what needs somebody's attention."""
