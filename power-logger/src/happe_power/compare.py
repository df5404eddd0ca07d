# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare two intervals: the difference of their mean powers, and the paper's improvement.

Each line of a budget has the key of its input. An input that both intervals share (shunt, divider, gains, zeros,
clock estimates) has one error, so its two sensitivities are added with their signs before they are squared (GUM
5.2.2, correlation 1). A factor of both powers thus drops out of the ratio by itself.
"""

from typing import NamedTuple

from happe_contract.measuring.budget import Budget, sum_of
from happe_contract.measuring.energy import Figure
from happe_contract.measuring.refusal import Refusal, Why


class Comparison(NamedTuple):
    """A result of two figures with its budget; `unit` is W or 1."""

    value: float
    unit: str
    budget: Budget


def difference(one: Figure, other: Figure) -> Comparison | Refusal:
    """Mean power of one interval minus that of another, in watts."""
    if refusal := _overlapping(one, other):
        return refusal
    return Comparison(one.mean_w - other.mean_w, "W", sum_of((one.budget, other.budget.scaled(-1.0))))


def improvement(one: Figure, reference: Figure) -> Comparison | Refusal:
    """1 - P / P_reference: the share of power that an interval saves against another, as in the paper's Table A.1."""
    if refusal := _overlapping(one, reference):
        return refusal
    if reference.mean_w <= 0 or one.mean_w <= 0:
        return Refusal(Why.NO_POWER, f"a ratio of {one.mean_w:.3g} W to {reference.mean_w:.3g} W has no meaning")
    ratio = one.mean_w / reference.mean_w
    parts = (one.budget.scaled(-1.0 / reference.mean_w), reference.budget.scaled(ratio / reference.mean_w))
    return Comparison(1.0 - ratio, "1", sum_of(parts))


def _overlapping(one: Figure, other: Figure) -> Refusal | None:
    a, b = one.interval, other.interval
    apart = a.end.position <= b.begin.position or b.end.position <= a.begin.position
    if a.trace != b.trace or apart:
        return None
    return Refusal(Why.OVERLAP, "the two intervals share samples; compare intervals that do not overlap")
