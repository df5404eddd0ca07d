# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows a recording in progress, as a page and as OpenMetrics, on loopback."""
