# SPDX-License-Identifier: GPL-2.0-or-later
"""Results of a study: overview, exports, analysis, reports, unblinding, withdrawal."""
