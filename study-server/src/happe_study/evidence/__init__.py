# SPDX-License-Identifier: GPL-2.0-or-later
"""The evidence of how a run went: power traces, learned profiles, and checks that they agree."""
