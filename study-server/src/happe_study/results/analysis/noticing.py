# SPDX-License-Identifier: GPL-2.0-or-later
"""How many probes people notice: presses of "faster" after real and after sham probes (docs/traces.md, Sham probes).

A press follows a probe if a series of presses begins within 60 s. The estimate is the share of real probes with a
press, minus that of sham ones. It is the coefficient of a linear regression on whether the probe was real. A separate
random draw made each probe real or sham, so the estimate holds even if a press delays the next probe. Errors are by
participant (clustered.py), because a person who notices one probe may well notice the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from happe_study.results.analysis import clustered, intervals
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_study.results.analysis.tidy import Floats

    Counts = NDArray[np.int64]  # participants x columns

WINDOW_US = 60_000_000
FEWEST_PROBES = 10  # least number of real probes, and of sham probes


class Column(IntEnum):
    """The columns of counts of a participant's probes."""

    REAL, REAL_PRESSED, SHAM, SHAM_PRESSED = range(4)


class Trial(NamedTuple):
    """A probe after which HAPPE served for 60 seconds, and whether a press of "faster" followed in these."""

    run: str
    participant: str
    sham: bool
    pressed: bool


@dataclass(frozen=True)
class Kind:
    """The number of real or sham probes, and of those that a press followed."""

    probes: int
    pressed: int

    @property
    def share(self) -> float | None:
        """The share with a press; None if there is no probe."""
        return self.pressed / self.probes if self.probes else None


@dataclass(frozen=True)
class Noticed:
    """The share of real probes that people notice, 0 to 1, with its 95 % interval; `error` is the standard error."""

    real: Kind
    sham: Kind
    participants: int
    value: float
    low: float
    high: float
    error: float
    p: float


def counted(trials: Sequence[Trial]) -> Counts:
    """Counts of probes, participants x Column."""
    people, of = np.unique([trial.participant for trial in trials], return_inverse=True)
    counts = np.zeros((len(people), len(Column)), dtype=np.int64)
    for person, trial in zip(of, trials, strict=True):
        counts[person, Column.SHAM if trial.sham else Column.REAL] += 1
        counts[person, Column.SHAM_PRESSED if trial.sham else Column.REAL_PRESSED] += trial.pressed
    return counts


def kinds(counts: Counts) -> tuple[Kind, Kind]:
    """All participants' real probes, and their sham probes."""
    real, real_pressed, sham, sham_pressed = (int(total) for total in counts.sum(axis=0))
    return Kind(real, real_pressed), Kind(sham, sham_pressed)


def estimated(counts: Counts) -> Noticed:
    """Estimate the share of noticed probes. Raises Refusal for too few probes or people, or if all press alike."""
    real, sham = kinds(counts)
    for name, kind in (("real", real), ("sham", sham)):
        if kind.probes < FEWEST_PROBES:
            raise Refusal(f"{kind.probes} {name} probes; the comparison needs at least {FEWEST_PROBES}")
    intervals.require(len(counts))
    shares = real.pressed / real.probes, sham.pressed / sham.probes
    value = shares[0] - shares[1]
    scores, informations = _told(counts, shares)
    error = float(np.sqrt(clustered.jackknifed(scores, informations)[1, 1]))
    if intervals.is_nothing(error, value):
        raise Refusal("the presses after probes do not differ between people, so no interval can be computed")
    dof = float(clustered.freedom(informations)[1])
    low, high = intervals.towards_nothing(lambda tail: intervals.student(value, error, dof, tail), len(counts))
    p = float(2 * stats.t.sf(abs(value / error), dof))
    return Noticed(real, sham, len(counts), value, max(low, -1.0), min(high, 1.0), error, p)


def _told(counts: Counts, shares: tuple[float, float]) -> tuple[Floats, Floats]:
    """Each participant's score and information in the regression on 1 and on (probe is real) minus its mean."""
    real, real_pressed, sham, sham_pressed = counts.T.astype(float)
    own = 1 - real.sum() / (real.sum() + sham.sum()), -real.sum() / (real.sum() + sham.sum())
    left = real_pressed - shares[0] * real, sham_pressed - shares[1] * sham
    scores = np.column_stack([left[0] + left[1], own[0] * left[0] + own[1] * left[1]])
    across = own[0] * real + own[1] * sham
    informations = np.array([[real + sham, across], [across, own[0] ** 2 * real + own[1] ** 2 * sham]])
    return scores, informations.transpose(2, 0, 1)
