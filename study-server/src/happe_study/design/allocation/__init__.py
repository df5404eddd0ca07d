# SPDX-License-Identifier: GPL-2.0-or-later
"""Who gets which conditions in which order: computed, and sealed. Pure."""
