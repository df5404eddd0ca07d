# SPDX-License-Identifier: GPL-2.0-or-later
"""Power of intervals, with its uncertainty: docs/uncertainty.md. Pure: no file, clock or log; time is an argument."""
