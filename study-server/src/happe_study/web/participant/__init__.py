# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages for participants."""

from happe_study.web.participant import pages, runs

BLUEPRINTS = (pages.pages, runs.pages)
