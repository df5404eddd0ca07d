# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of jobs of a study. A new kind needs a function that takes a `Work`, and a line here."""

from happe_study.results import planning
from happe_study.results.exports import job as exports
from happe_study.results.reports import job as reports
from happe_study.results.withdrawal import job as withdrawal
from happe_study.results.withdrawal import retaining
from happe_study.study.checks import services as checks
from happe_study.study.measuring import job as measuring

_EVERY = (checks, measuring, exports, planning, reports, withdrawal, retaining)
KINDS = {module.KIND.name: module.KIND for module in _EVERY}
