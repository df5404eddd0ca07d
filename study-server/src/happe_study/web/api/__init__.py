# SPDX-License-Identifier: GPL-2.0-or-later
"""The routes of the HTTP interface."""
