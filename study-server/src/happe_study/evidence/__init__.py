# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence from runs: power traces, learned profiles, and checks that these agree."""
