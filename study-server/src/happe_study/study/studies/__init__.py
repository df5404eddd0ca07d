# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies: creating them from a protocol, locking them, their slots and custodians."""
