# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff, devices and participants, and the tokens that identify them."""
