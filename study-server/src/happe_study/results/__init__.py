# SPDX-License-Identifier: GPL-2.0-or-later
"""What a study ends in: exports, reports, unblinding, withdrawals; and the overview of all of it."""
