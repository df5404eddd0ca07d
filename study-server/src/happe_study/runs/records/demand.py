# SPDX-License-Identifier: GPL-2.0-or-later
"""The demand of a domain of policies in one observation, and its level: docs/traces.md, Speed, Demand and Level.

Units are the trace's: kHz and ppm, all integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEVELS = 10
MILLION = 1_000_000
IDLE_PPM = 10_000  # a CPU below this adds nothing to the demand of a domain of several policies


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies in kHz, ascending, and the real speeds of calibrated frequencies."""

    khz: tuple[int, ...]
    speeds: Mapping[int, int]

    @property
    def f_max(self) -> int:
        """The real speed at the ladder's top, in kHz."""
        return self.speed(self.khz[-1])

    def speed(self, khz: int) -> int:
        """The real speed at a frequency, in kHz."""
        return self.speeds.get(khz, khz)

    def level(self, util_ppm: int, cur_khz: int) -> int:
        """The level, 0 to 9, of a domain that consists of this policy, running at `cur_khz`."""
        return min(LEVELS - 1, util_ppm * self.speed(cur_khz) * LEVELS // (MILLION * self.f_max))


@dataclass(frozen=True)
class Seen:
    """A policy in one observation: the frequency set, the measured speed if known, and each CPU's utilisation."""

    ladder: Ladder
    cur_khz: int
    ran_khz: int | None
    util_ppm: Sequence[int]

    @property
    def speed(self) -> int:
        """The measured speed, at most that of `cur_khz`; without a measurement, the speed of `cur_khz`."""
        speed = self.ladder.speed(self.cur_khz)
        return speed if self.ran_khz is None else min(self.ran_khz, speed)

    @property
    def busy(self) -> list[int]:
        """The utilisation of the CPUs that are not idle."""
        return [ppm for ppm in self.util_ppm if ppm >= IDLE_PPM]

    @property
    def work(self) -> int:
        """The work of the busy CPUs, in ppm of one CPU at f_max."""
        return sum(ppm * min(self.speed, self.ladder.f_max) // self.ladder.f_max for ppm in self.busy)


def level(listed: Sequence[Seen], *, alone: bool) -> int:
    """The level, 0 to 9, of a domain, from its policies in one observation. `alone`: the domain has one policy."""
    if alone:
        (policy,) = listed
        return min(LEVELS - 1, max(policy.util_ppm) * policy.speed * LEVELS // (MILLION * policy.ladder.f_max))
    known = [policy for policy in listed if policy.ran_khz is not None]
    if busy := sum(sum(policy.busy) for policy in known):
        share = sum(policy.work for policy in known) * MILLION // busy
        listed = [
            replace(policy, ran_khz=share * policy.ladder.f_max // MILLION) if policy.ran_khz is None else policy
            for policy in listed
        ]
    return min(LEVELS - 1, sum(policy.work for policy in listed) * LEVELS // MILLION)
