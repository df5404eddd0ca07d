# SPDX-License-Identifier: GPL-2.0-or-later
"""Uncertainty budgets after JCGM 100:2008 (GUM), clauses 5.1, 5.2, 6.2 and G.4."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

COVERAGE_FACTOR = 2.0  # k; about 95 % if the effective degrees of freedom are many (GUM 6.3.3)


class Kind(StrEnum):
    """How a standard uncertainty was evaluated (GUM 4.2, 4.3)."""

    A = "A"  # statistics of observations
    B = "B"  # other means: a record, a resolution, a bound


@dataclass(frozen=True)
class Contribution:
    """One input's effect on a result: sensitivity (result's unit per unit of the input) and standard uncertainty.

    `key` names the input: contributions with the same key share one error, so their sensitivities add before they are
    squared (GUM 5.2.2, correlation 1). Inputs with different keys are independent. `unit` is the input's.
    """

    key: str
    name: str
    kind: Kind
    sensitivity: float
    standard_uncertainty: float
    unit: str
    source: str
    dof: float = math.inf

    @property
    def part(self) -> float:
        """The contribution to the combined standard uncertainty, in the result's unit, with a sign."""
        return self.sensitivity * self.standard_uncertainty


@dataclass(frozen=True)
class Budget:
    """Contributions, each key once."""

    lines: tuple[Contribution, ...]

    @property
    def standard_uncertainty(self) -> float:
        """The combined standard uncertainty, k = 1 (GUM 5.1.2)."""
        return math.hypot(*(line.part for line in self.lines))

    @property
    def expanded(self) -> float:
        """U with k = 2 (GUM 6.2.1)."""
        return COVERAGE_FACTOR * self.standard_uncertainty

    @property
    def dof(self) -> float:
        """Effective degrees of freedom by Welch and Satterthwaite (GUM G.4.1, equation G.2b)."""
        spread = sum(line.part**4 / line.dof for line in self.lines)
        return self.standard_uncertainty**4 / spread if spread > 0 else math.inf

    def of_kind(self, kind: Kind) -> float:
        """The combined standard uncertainty of one kind alone."""
        return math.hypot(*(line.part for line in self.lines if line.kind is kind))

    def scaled(self, factor: float) -> "Budget":
        """The budget of the result times a factor."""
        return Budget(tuple(replace(line, sensitivity=factor * line.sensitivity) for line in self.lines))


def budget_of(contributions: Iterable[Contribution]) -> Budget:
    """Make a budget of contributions; those with the same key are merged."""
    lines: dict[str, Contribution] = {}
    for each in contributions:
        known = lines.get(each.key)
        lines[each.key] = replace(known, sensitivity=known.sensitivity + each.sensitivity) if known else each
    return Budget(tuple(lines.values()))


def sum_of(budgets: Iterable[Budget]) -> Budget:
    """The budget of the sum of results: errors that they share add or cancel."""
    return budget_of(line for budget in budgets for line in budget.lines)
