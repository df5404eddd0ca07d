# SPDX-License-Identifier: GPL-2.0-or-later
"""A study: its protocol and allocation, people, runs, and the evidence from runs."""
