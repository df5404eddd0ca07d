# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that does not depend on studies: the database, problems, pages of lists, requests, times, charts."""
