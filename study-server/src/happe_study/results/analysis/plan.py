# SPDX-License-Identifier: GPL-2.0-or-later
"""A plan: the assumptions of its simulated studies, their batches, and the power that their counts give.

Each batch has its own random numbers, which depend only on its number. So any process can simulate batches, in any
order. A server without the statistics packages can import this module; `planning` does the simulation.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from happe_study.results.analysis.refusal import Refusal
from happe_study.study.protocol.reading import Protocol

FEWEST, MOST = 5, 1000  # participants
STUDIES, MOST_STUDIES = 2000, 100_000  # simulated studies of each size: default and maximum
BATCH = 2000  # studies of a batch; another number would change the result of every plan
# How often each rating from 1 on occurred under ondemand: Table A.1's Torcs, Quake3, Glest and Trackballs. Two
# histograms give the cell of Trackballs; this is the one with the longer tail.
PAPER_RATINGS = ((0, 0, 1, 9, 14), (0, 0, 0, 3, 21), (0, 0, 1, 9, 14), (0, 1, 0, 10, 13))


@dataclass(frozen=True)
class Assumption:
    """A number that the planner assumes: its name, bounds, default, description and unit."""

    name: str
    low: float
    high: float
    default: float
    text: str
    unit: str = "PART"


ASSUMPTIONS = (
    Assumption("difference", -10, 10, 0.0, "The true difference of mean ratings: treatment minus reference", "POINTS"),
    Assumption("between", 0, 0.95, 0.3, "The share of satisfaction's variance between people"),
    Assumption(
        "liking", 0, 1, 0.05, "The variance of people's own liking of the treatment, as a share of the same variance"
    ),
    Assumption("minority", 0, 0.5, 0.0, "The share of people who rate the treatment lower than the others do"),
    Assumption("dislike", 0, 10, 2.0, "How much lower this minority rates it", "POINTS"),
    Assumption("dropout", 0, 0.9, 0.0, "The share of the participants who drop out"),
    Assumption("saving", -1, 0.9, 0.25, "The true typical saving"),
    Assumption("spread", 0.001, 1, 0.06, "The standard deviation of people's own savings"),
    Assumption("above", -1, 0.9, 0.2, "The saving above which the whole interval should be"),
)


class Batch(NamedTuple):
    """Studies of `size` participants, simulated together. `number` counts the batches of a size from 0."""

    size: int
    number: int
    studies: int


class Counts(NamedTuple):
    """The numbers of a batch's studies that show non-inferiority, and that show the saving."""

    noninferior: int
    saved: int


@dataclass(frozen=True)
class Plan:
    """The input of a plan, from the protocol and from the planner. As JSON, it is the arguments of a job.

    `sizes` are numbers of participants who begin; `studies` is the number of simulated studies of each size. `width` is
    the scale's, in points. `assumed` has a number for each name of ASSUMPTIONS.
    """

    sizes: Sequence[int]
    studies: int
    margin: float
    alpha: float
    width: int
    applications: int
    assumed: Mapping[str, float]

    def left(self, size: int) -> int:
        """How many of `size` participants do not drop out."""
        return left(size, self.assumed)

    def batches(self) -> Iterator[Batch]:
        """Yield every batch, in the order of the sizes."""
        for size in self.sizes:
            for number, first in enumerate(range(0, self.studies, BATCH)):
                yield Batch(size, number, min(BATCH, self.studies - first))


@dataclass(frozen=True)
class Power:
    """The shares of simulated studies that show non-inferiority (`power`) and the saving (`saving_power`).

    `error` is the Monte Carlo error of `power`. `participants` begin, `left` are there at the end.
    """

    participants: int
    left: int
    power: float
    error: float
    saving_power: float
    studies: int


def of_protocol(
    protocol: Protocol, sizes: Sequence[int], studies: int, assumed: Mapping[str, float], *, like_paper: bool = True
) -> Plan:
    """Make a plan of a protocol. Without `sizes`, these are multiples of its number of participants, from a half on.

    Raises Refusal if the protocol has no margin, or if `like_paper` asks for the paper's ratings on another scale.
    """
    analysis, rating = protocol.analysis, protocol.rating
    if analysis is None:
        raise Refusal("has no section [analysis] with the margin; add one (docs/protocol.md, The analysis)")
    width = rating.highest - rating.lowest
    if like_paper and width + 1 != len(PAPER_RATINGS[0]):
        raise Refusal(f"rating: has {width + 1} points; the paper's ratings have {len(PAPER_RATINGS[0])}")
    wanted = sizes_of(protocol, sizes)
    return Plan(wanted, studies, analysis.margin, analysis.alpha, width, len(protocol.applications), dict(assumed))


def sizes_of(protocol: Protocol, sizes: Sequence[int]) -> tuple[int, ...]:
    """The given sizes, or without these the multiples of the protocol's number. Refusal if that is too small."""
    wanted = tuple(dict.fromkeys(sizes)) or _multiples(protocol.participants, protocol.block_size)
    if not wanted:
        raise Refusal(f"participants: three times as many are fewer than {FEWEST}; give numbers of participants")
    return wanted


def left(size: int, assumed: Mapping[str, float]) -> int:
    """How many of `size` participants do not drop out."""
    return round(size * (1 - assumed["dropout"]))


def _multiples(participants: int, block: int) -> tuple[int, ...]:
    """Multiples of the number of participants from a half to three, each rounded to whole blocks."""
    rounded = {max(1, round(part * participants / block)) * block for part in (0.5, 1, 1.5, 2, 3)}
    return tuple(sorted(size for size in rounded if size >= FEWEST))


def powers(plan: Plan, counts: Iterable[Sequence[int]]) -> list[Power]:
    """The power at each size, from the counts of all batches in their order."""
    sums = {size: Counts(0, 0) for size in plan.sizes}
    for batch, (noninferior, saved) in zip(plan.batches(), counts, strict=True):
        so_far = sums[batch.size]
        sums[batch.size] = Counts(so_far.noninferior + noninferior, so_far.saved + saved)
    return [_power(plan, size, sums[size]) for size in plan.sizes]


def _power(plan: Plan, size: int, counts: Counts) -> Power:
    share, saved = (count / plan.studies for count in counts)
    error = math.sqrt(share * (1 - share) / plan.studies)
    return Power(size, plan.left(size), share, error, saved, plan.studies)


def document(found: Iterable[Mapping[str, float]]) -> str:
    """Powers as JSON text, as `happe-server plan --json` prints them."""
    return json.dumps(list(found), indent=2, ensure_ascii=False) + "\n"
