# SPDX-License-Identifier: GPL-2.0-or-later
"""The marker: a pattern of CPU load that the laptop makes before and after a session, so that its power shows the time.

The pattern is the sequence of 127 chips of 200 ms that a shift register of seven bits gives, all ones at first, with
x^7 + x^6 + 1 (S. Golomb, Shift Register Sequences, 1967): each step puts out the last bit and shifts in the exclusive
or of the last two. A chip of 1 means that all CPUs are busy, 0 that they are idle; after the last chip the load is
off. The pattern agrees with a shifted copy of itself as often as not, so a search can't take one delay for another.
"""

from __future__ import annotations

from typing import NamedTuple

BITS = 7
SEED = 0b1111111
CHIP_US = 200_000


class Switch(NamedTuple):
    """A change of the load at `at_us`."""

    at_us: int
    on: bool


def chips() -> tuple[bool, ...]:
    """The 127 chips; True: the load is on."""
    register, made = SEED, []
    for _ in range(2**BITS - 1):
        made.append(bool(register & 1))
        register = register >> 1 | ((register ^ register >> 1) & 1) << (BITS - 1)
    return tuple(made)


DURATION_US = (2**BITS - 1) * CHIP_US


def pattern(start_us: int) -> tuple[Switch, ...]:
    """The load's switching times, by the clock of `start_us`. The first switches it on, the last off, at the end."""
    made: list[Switch] = []
    for number, on in enumerate((*chips(), False)):
        if not made or made[-1].on is not on:
            made.append(Switch(start_us + number * CHIP_US, on))
    if made[-1].at_us != start_us + DURATION_US:
        made.append(Switch(start_us + DURATION_US, on=False))
    return tuple(made)
