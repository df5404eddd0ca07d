# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that plans a study.

It depends only on its arguments (`Plan`). It reads no data of a study, so it can't reveal any.
"""

from dataclasses import asdict
from importlib import import_module

from happe_study.model.jobs.work import FailedError, Kind, Work
from happe_study.model.rights import Right
from happe_study.results.analysis.plan import Plan, powers
from happe_study.results.analysis.refusal import Refusal

PLAN = "plan"


def plan(work: Work) -> None:
    """Simulate the studies of each size, batch by batch."""
    planning = import_module("happe_study.results.analysis.planning")
    wanted = Plan(**work.arguments)
    batches = list(wanted.batches())
    counts = []
    try:
        draw = planning.drawing(wanted)
        for done, batch in enumerate(batches):
            work.doing("simulating studies", done, len(batches))
            counts.append(planning.counted(wanted, draw, batch))
    except Refusal as error:
        raise FailedError(f"The studies can't be simulated: {error}.") from None
    with work.taking_effect({"powers": [asdict(each) for each in powers(wanted, counts)]}):
        pass


KIND = Kind(PLAN, "Plan", Right.STUDY_READ, plan, "planning_pages.plans")
