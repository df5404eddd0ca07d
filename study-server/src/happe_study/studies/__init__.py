# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies: made from a protocol, locked, with their slots and custodians."""
