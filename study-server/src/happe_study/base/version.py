# SPDX-License-Identifier: GPL-2.0-or-later
"""The program's version."""

VERSION = "0.2.0"
