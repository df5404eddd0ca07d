# SPDX-License-Identifier: GPL-2.0-or-later
"""What a recording is doing, as a page and as OpenMetrics, on loopback."""
