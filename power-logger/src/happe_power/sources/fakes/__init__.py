# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulated twins of instruments, with the same interface as the real ones."""
