# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that plans a study, in pieces that workers do in parallel.

It depends only on its arguments (`Plan`). It reads no data of a study, so it can't reveal any.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib import import_module
from typing import TYPE_CHECKING, Any

from happe_study.access.rights import Right
from happe_study.jobs.work import FailedError, Kind
from happe_study.results.analysis.plan import Batch, Plan, powers
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from happe_study.jobs.work import Work

PLAN = "plan"
PIECE = "plan-piece"
PIECE_PEOPLE = 10_000_000  # least simulated participants of a piece: ten times the time that a process needs to start


def plan(work: Work) -> None:
    """Split the simulation into pieces; when these are done, combine their counts."""
    wanted = Plan(**work.arguments)
    done = work.results()
    if not done:
        work.doing("simulating studies")
        work.split(PIECE, [{"plan": work.arguments, "batches": batches} for batches in _pieces(wanted)])
        return
    found = powers(wanted, (counts for piece in done for counts in piece["counts"]))
    with work.taking_effect({"powers": [asdict(each) for each in found]}):
        pass


def plan_piece(work: Work) -> None:
    """Simulate the batches of one piece."""
    planning = import_module("happe_study.results.analysis.planning")
    wanted, batches = Plan(**work.arguments["plan"]), work.arguments["batches"]
    counts: list[Any] = []
    try:
        draw = planning.drawing(wanted)
        for done, batch in enumerate(batches):
            work.doing("simulating studies", done, len(batches))
            counts.append(planning.counted(wanted, draw, Batch(*batch)))
    except Refusal as error:
        raise FailedError(f"The studies can't be simulated: {error}.") from None
    with work.taking_effect({"counts": counts}):
        pass


KIND = Kind(PLAN, "Plan", Right.STUDY_READ, plan)
KIND_OF_PIECE = Kind(PIECE, "Some studies of a plan", Right.STUDY_READ, plan_piece)


def _pieces(wanted: Plan) -> list[list[Batch]]:
    """The plan's batches in consecutive groups, each with enough simulated people to be worth a process."""
    pieces: list[list[Batch]] = []
    room = 0
    for batch in wanted.batches():
        if room <= 0:
            pieces.append([])
            room = PIECE_PEOPLE
        pieces[-1].append(batch)
        room -= batch.size * batch.studies
    return pieces
