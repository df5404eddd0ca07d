# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of jobs of a study. A new kind needs a function that takes a `Work`, and a line here."""

from happe_study.results import planning, reports
from happe_study.results.exports import job as exports
from happe_study.results.withdrawal import job as withdrawal
from happe_study.study.checks import services as checks
from happe_study.study.measuring import job as measuring

_MODULES = (checks, measuring, exports, planning, reports, withdrawal)
KINDS = {kind.name: kind for kind in (*(module.KIND for module in _MODULES), withdrawal.IDENTITIES)}
