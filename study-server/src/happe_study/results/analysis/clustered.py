# SPDX-License-Identifier: GPL-2.0-or-later
"""Standard errors by participant: the jackknife that leaves out one participant at a time, in one Newton step.

A participant with score s and information I moves the estimate by (H - I)^-1 s, where H is everybody's information.
The sum of squares of the moves, times (n - 1) / n, is the variance (CR3: MacKinnon, Nielsen and Webb, Journal of
Applied Econometrics 38, 2023; Bell and McCaffrey, Survey Methodology 28, 2002). It assumes nothing about how the runs
of one person depend on each other, so a condition may affect people differently. With few participants the errors are
rather too wide; those of the plain sandwich would be too narrow. If some participants have much more information than
others, fewer of them are the evidence. So the degrees of freedom are their effective number minus one, with (sum I)^2 /
sum I^2 as the effective number (Carter, Schnepel and Steigerwald, Review of Economics and Statistics 99, 2017).
"""

import numpy as np
from scipy import stats

from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats


def jackknifed(scores: Floats, informations: Floats) -> Floats:
    """The covariance of the estimates. Scores: participants x parameters; informations: a matrix per participant.

    Raises Refusal if the estimate does not exist without one of the participants.
    """
    rest = informations.sum(axis=0) - informations
    rest = (rest + rest.transpose(0, 2, 1)) / 2
    spread = np.linalg.eigvalsh(rest)
    rounding = rest.shape[1] * np.finfo(float).eps * spread[:, -1]
    if (spread[:, 0] <= rounding).any():
        raise Refusal("the estimates depend on a single participant")
    moves = np.linalg.solve(rest, scores[:, :, None])[:, :, 0]
    covariance: Floats = (len(scores) - 1) / len(scores) * moves.T @ moves
    return covariance


def freedom(informations: Floats) -> Floats:
    """Degrees of freedom of each parameter."""
    own = np.diagonal(informations, axis1=1, axis2=2)
    dof: Floats = own.sum(axis=0) ** 2 / (own**2).sum(axis=0) - 1
    return dof


def together(estimates: Floats, covariance: Floats, participants: int) -> tuple[float, int, int, float]:
    """Hotelling's test of several coefficients: F, both degrees of freedom, p. Refusal for too few participants."""
    k, n = len(estimates), participants
    if n <= k:
        raise Refusal(f"{n} participants are too few to test {k} terms together")
    f = float(estimates @ np.linalg.solve(covariance, estimates)) * (n - k) / (k * (n - 1))
    return f, k, n - k, float(stats.f.sf(f, k, n - k))
