# SPDX-License-Identifier: GPL-2.0-or-later
"""What people notice: presses of "faster" after real probes and after sham ones (docs/traces.md, Sham probes).

A probe counts as followed by a press if a series of presses begins within 60 s. The estimate is the share of real
probes with a press, less that of sham ones. It is the coefficient of a linear regression on whether the probe was real.
Each probe was drawn by itself, so the estimate holds even where a press delays the next probe. Errors are by
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
FEWEST_PROBES = 10  # real ones, and sham ones


class Column(IntEnum):
    """What is counted of a participant's probes."""

    REAL, REAL_PRESSED, SHAM, SHAM_PRESSED = range(4)


class Trial(NamedTuple):
    """A probe whose 60 seconds were all served, and whether a press of "faster" followed in them."""

    run: str
    participant: str
    sham: bool
    pressed: bool


@dataclass(frozen=True)
class Kind:
    """Real or sham probes: how many, and how many of them a press followed."""

    probes: int
    pressed: int

    @property
    def share(self) -> float | None:
        """The share with a press. None: there is no probe."""
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
    """Each participant's real probes, those of them with a press, the sham ones, and those of these with a press."""
    people, of = np.unique([trial.participant for trial in trials], return_inverse=True)
    counts = np.zeros((len(people), len(Column)), dtype=np.int64)
    for person, trial in zip(of, trials, strict=True):
        counts[person, Column.SHAM if trial.sham else Column.REAL] += 1
        counts[person, Column.SHAM_PRESSED if trial.sham else Column.REAL_PRESSED] += trial.pressed
    return counts


def kinds(counts: Counts) -> tuple[Kind, Kind]:
    """The real probes, and the sham ones."""
    real, real_pressed, sham, sham_pressed = (int(total) for total in counts.sum(axis=0))
    return Kind(real, real_pressed), Kind(sham, sham_pressed)


def estimated(counts: Counts) -> Noticed:
    """The estimate. Refusal if there are too few probes or people, or no press at all."""
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
    """Each one's score and information of the regression: on 1, and on whether the probe was real, less its mean."""
    real, real_pressed, sham, sham_pressed = counts.T.astype(float)
    own = 1 - real.sum() / (real.sum() + sham.sum()), -real.sum() / (real.sum() + sham.sum())
    left = real_pressed - shares[0] * real, sham_pressed - shares[1] * sham
    scores = np.column_stack([left[0] + left[1], own[0] * left[0] + own[1] * left[1]])
    across = own[0] * real + own[1] * sham
    informations = np.array([[real + sham, across], [across, own[0] ** 2 * real + own[1] ** 2 * sham]])
    return scores, informations.transpose(2, 0, 1)
