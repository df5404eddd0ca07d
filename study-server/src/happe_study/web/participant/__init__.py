# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages for participants."""
