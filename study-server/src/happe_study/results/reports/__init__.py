# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of unblinded studies: what is uploaded for them, how they are made, and how they are shown."""
