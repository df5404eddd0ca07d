# SPDX-License-Identifier: GPL-2.0-or-later
"""How precisely a study of a certain size estimates the share of probes that people notice.

It draws participants, with replacement, from a simulated field study (`happe-sim field`), and computes the estimate of
each resulting study as for a real one (`noticing`). Participants include people without a probe, who add no data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from happe_study.design.protocol.conditions import L_HAPPE
from happe_study.results.analysis.noticing import Column, counted, estimated
from happe_study.results.analysis.planning import numbers_of
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from happe_study.results.analysis.noticing import Counts
    from happe_study.results.analysis.reading import Export


@dataclass(frozen=True)
class Precision:
    """The precision of studies in which `participants` begin and `left` stay.

    `hours`: all participants' hours under L-HAPPE; `probes`: the mean number of probes of both kinds; `half_width`: the
    mean half of the interval (None: no study has one); `narrow`: the share of studies whose interval is narrow enough.
    """

    participants: int
    left: int
    hours: float
    probes: float
    half_width: float | None
    narrow: float
    studies: int


def precisions(export: Export, sizes: Sequence[tuple[int, int]], studies: int, wanted: float) -> list[Precision]:
    """The precision at each size (participants who begin, participants left). Refusal without a run of L-HAPPE."""
    mine = [run for run in export.runs.rows if run.condition == L_HAPPE.label]
    people = len({run.participant for run in mine})
    if not people:
        raise Refusal(f"the study in the folder has no run under {L_HAPPE.label}; `happe-sim field` simulates one")
    hours = sum(run.seconds for run in mine) / 3600 / people
    met = counted(export.trials)
    everybody = np.vstack([met, np.zeros((people - len(met), len(Column)), dtype=met.dtype)])
    return [_precision(everybody, size, hours, studies, wanted) for size in sizes]


def _precision(everybody: Counts, size: tuple[int, int], hours: float, studies: int, wanted: float) -> Precision:
    began, left = size
    drawn = everybody[numbers_of(0).integers(len(everybody), size=(studies, left))]
    probes = float(drawn[..., (Column.REAL, Column.SHAM)].sum(axis=(1, 2)).mean())
    halves = [half for counts in drawn for half in _half(counts)]
    narrow = sum(half <= wanted for half in halves) / studies
    return Precision(began, left, left * hours, probes, float(np.mean(halves)) if halves else None, narrow, studies)


def _half(counts: Counts) -> Iterator[float]:
    """Half of a study's interval; nothing if it has none."""
    try:
        found = estimated(counts[counts.any(axis=1)])
    except Refusal:
        return
    yield (found.high - found.low) / 2
