# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight CPUs with a policy each: a busy thread needs the same number of presses on any CPU, however often it moves."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from t61.cost import beside_bare_reads, cap_files, sample_table, setspeed_files, spent
from t61.cpufreq import LADDER_KHZ, Policy, without_userspace
from t61.roaming import roaming
from t61.waiting import spend, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from t61.happe import Happed
    from t61.keyboard import Keyboard

    Show = Callable[[str, list[str]], None]

CPUS = 8
POLICIES = [Policy(number) for number in range(CPUS)]
MOST_PRESSES = 12
PERIODS_S = 2.5
SAMPLES = 60


@dataclass(frozen=True)
class Motion:
    """How busy threads move: to the next CPU each period. 0 means never; None leaves it to the scheduler."""

    name: str
    period_s: float | None

    def begin(self, threads: int, stack: ExitStack) -> None:
        """Run this number of threads, as far from each other as possible."""
        for thread in range(threads):
            cpus = 0 if self.period_s is None else CPUS
            stack.enter_context(roaming(cpus, thread * CPUS // threads, self.period_s or 0))


MOTIONS = [
    Motion("pinned", 0),
    Motion("moved every second", 1),
    Motion("moved every 100 ms", 0.1),
    Motion("left to the scheduler", None),
]


class Person:
    """Alice at her keyboard.

    While she waits, the tests do almost nothing, because happed would count their work as a program's.
    """

    def __init__(self, happed: Happed, keyboard: Keyboard) -> None:
        """Wait until happed has all keyboards."""
        self.happed, self.keyboard, self.pid = happed, keyboard, happed.pid
        happed.wait_for_keyboards(1)

    def forget(self) -> int:
        """Teach the lowest frequency for every level, and wait until it is set. Return the last lesson's number."""
        profile = {"user": "alice", "app": "desktop", "khz": [LADDER_KHZ[0]] * 10}
        document = {"format": "happe-profile/1", "f_max_khz": LADDER_KHZ[-1], "profiles": [profile]}
        self.happed.call("ImportProfiles", "ss", "alice", json.dumps(document))
        wait_until(lambda: speeds() == {str(LADDER_KHZ[0])}, "nothing is taught", every_s=0.5)
        return max((event[0] for event in self.events(0)), default=0)

    def events(self, after: int) -> list[Any]:
        """Return the lessons after this one."""
        found: list[Any] = self.happed.call("ListEvents", "ssxu", "alice", "desktop", str(after), "50")[0]
        return found

    def presses_to_the_top(self) -> tuple[int, list[int]]:
        """Press until all CPUs stay at the top. Return the number of presses, and the levels that learned."""
        from evdev import ecodes  # noqa: PLC0415 - slow to import here

        last = self.forget()
        self.look_on()
        presses = 0
        while speeds() != {str(LADDER_KHZ[-1])} and presses < MOST_PRESSES:
            self.keyboard.press(ecodes.KEY_PROG1)
            presses += 1
            self.look_on()
        levels = [event[4] for event in self.events(last)]
        assert len(levels) == presses
        return presses, levels

    def look_on(self) -> None:
        """Wait for at least two samples after a press."""
        before = spent([self.pid]).wake_ups
        spend(PERIODS_S)
        wait_until(lambda: spent([self.pid]).wake_ups >= before + PERIODS_S, "happed samples", every_s=0.5)


def speeds() -> set[str]:
    """Return the set frequencies of all policies."""
    return {policy.read("scaling_setspeed") for policy in POLICIES}


def compare(person: Person, motions: list[Motion], numbers: list[int], show: Show) -> None:
    """Compare these motions with the first, with each of these numbers of threads."""
    rows = []
    for threads in numbers:
        pinned = 0
        for motion in motions:
            with ExitStack() as stack:
                motion.begin(threads, stack)
                presses, levels = person.presses_to_the_top()
            pinned = pinned or presses
            rows.append(f"{threads:7}  {motion.name:24} {presses:7}  {' '.join(map(str, levels))}")
            show("moving", ["threads  they are                 presses  levels that learned", *rows])
            assert abs(presses - pinned) <= 1, motion
            assert min(levels) > 0, "a CPU that idles taught"


def test_a_thread_that_moves_needs_as_many_presses(happed: Happed, keyboard: Keyboard, show: Show) -> None:
    assert happed.property("Domains") == [list(range(CPUS))]
    compare(Person(happed, keyboard), MOTIONS[:2], [1], show)


@pytest.mark.long
def test_one_thread_or_two_need_as_many_presses_however_they_move(
    happed: Happed, keyboard: Keyboard, show: Show
) -> None:
    compare(Person(happed, keyboard), MOTIONS, [1, 2], show)


@pytest.mark.long
def test_a_sample_beside_bare_reads(happed: Happed, show: Show) -> None:
    compare_with_bare_reads(happed, setspeed_files(POLICIES), "sample", show)


@pytest.mark.long
@pytest.mark.usefixtures("alice")
def test_a_sample_with_caps_beside_bare_reads(show: Show) -> None:
    from t61.happe import Happed  # noqa: PLC0415 - slow to import here

    with without_userspace(POLICIES):
        happed = Happed()
        happed.wait_for("governing")
        compare_with_bare_reads(happed, cap_files(POLICIES), "sample-cap", show)
        happed.stop()


def compare_with_bare_reads(happed: Happed, files: list[Path], name: str, show: Show) -> None:
    """Real time's figures, for information: the test in virtual time judges."""
    mine, least = beside_bare_reads(happed.pid, files, SAMPLES)
    show(name, sample_table(mine, least))
    assert least.wake_ups == pytest.approx(SAMPLES, abs=SAMPLES // 4)
