# SPDX-License-Identifier: GPL-2.0-or-later
"""What people notice: presses of "faster" after real probes and after sham ones (docs/traces.md, Sham probes).

A probe counts as followed by a press if a series of presses begins within 60 s. The estimate is the share of real
probes with a press, less that of sham ones. It is the coefficient of a linear regression on whether the probe was real.
Each probe was drawn by itself, so the estimate holds even where a press delays the next probe. Errors are by
participant (clustered.py), because a person who notices one probe may well notice the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from happe_study.results.analysis import clustered, intervals
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

WINDOW_US = 60_000_000
FEWEST_PROBES = 10  # real ones, and sham ones


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
    def share(self) -> float:
        """The share with a press."""
        return self.pressed / self.probes


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


def noticed(trials: Sequence[Trial]) -> Noticed:
    """The estimate. Refusal if there are too few probes or people, or no press at all."""
    real, sham = (_kind(trials, sham=sham) for sham in (False, True))
    for name, kind in (("real", real), ("sham", sham)):
        if kind.probes < FEWEST_PROBES:
            raise Refusal(f"{kind.probes} {name} probes; the comparison needs at least {FEWEST_PROBES}")
    people, of = np.unique([trial.participant for trial in trials], return_inverse=True)
    intervals.require(len(people))
    value = real.share - sham.share
    own = np.array([not trial.sham for trial in trials], dtype=float)
    x = np.column_stack([np.ones(len(own)), own - own.mean()])
    pressed = np.array([trial.pressed for trial in trials], dtype=float)
    left = pressed - np.where(own > 0, real.share, sham.share)
    scores = np.array([x[of == person].T @ left[of == person] for person in range(len(people))])
    informations = np.array([x[of == person].T @ x[of == person] for person in range(len(people))])
    error = float(np.sqrt(clustered.jackknifed(scores, informations)[1, 1]))
    if intervals.is_nothing(error, value):
        raise Refusal("the presses after probes do not differ between people, so no interval can be computed")
    dof = float(clustered.freedom(informations)[1])
    low, high = intervals.towards_nothing(lambda tail: intervals.student(value, error, dof, tail), len(people))
    p = float(2 * stats.t.sf(abs(value / error), dof))
    return Noticed(real, sham, len(people), value, max(low, -1.0), min(high, 1.0), error, p)


def _kind(trials: Sequence[Trial], *, sham: bool) -> Kind:
    mine = [trial for trial in trials if trial.sham is sham]
    return Kind(len(mine), sum(trial.pressed for trial in mine))
