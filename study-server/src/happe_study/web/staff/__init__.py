# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages for the staff of a study."""

from happe_study.web.staff import (
    accounts,
    audit,
    checks,
    devices,
    exclusions,
    exports,
    jobs,
    overview,
    participants,
    planning,
    profiles,
    reports,
    studies,
    unblinding,
)
from happe_study.web.staff.run_page import pages as run

BLUEPRINTS = tuple(
    each.pages
    for each in (
        accounts, overview, studies, participants, run, devices, unblinding, audit, checks, planning, reports, exports,
        jobs, profiles, exclusions,
    )
)  # fmt: skip
