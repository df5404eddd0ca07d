# SPDX-License-Identifier: GPL-2.0-or-later
"""What knows nothing of studies: the database, problems, pages of lists, requests, times, charts."""
