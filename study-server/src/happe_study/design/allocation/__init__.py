# SPDX-License-Identifier: GPL-2.0-or-later
"""The allocation: each participant's conditions and their order, computed and sealed. Pure."""
