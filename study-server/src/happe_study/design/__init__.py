# SPDX-License-Identifier: GPL-2.0-or-later
"""A study before its first participant: its protocol, its allocation, and its row."""
