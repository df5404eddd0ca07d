# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces for people and other programs: curves, pictures, tables, and a trace played again."""
