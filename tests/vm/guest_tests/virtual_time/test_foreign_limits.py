# SPDX-License-Identifier: GPL-2.0-or-later
"""happed caps on the real kernel while another program changes its limit. The kernel records who writes what."""

from __future__ import annotations

import os
import random
import signal
from typing import TYPE_CHECKING

import pytest

from t61.cpufreq import LADDER_KHZ, without_userspace
from t61.happe import FOUND, Happed, no_restart, wants
from t61.waiting import spend, wait_until
from t61.written import writes, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from t61.cpufreq import Policy
    from t61.written import Write

    Show = Callable[[str, list[str]], None]

CHANGES = 5  # in a round
PERIOD_S = 1.0
LATE_S = 0.1  # until the kernel wakes happed, and happed has read and written
SEED = 18
US = "happed"


@pytest.fixture
def capped(policy: Policy) -> Iterator[Policy]:
    """Make happed cap this policy."""
    with without_userspace([policy]):
        yield policy


def exceeded(found: list[Write]) -> list[tuple[float, float]]:
    """Return when and for how long happed's cap was above the newest limit of another program."""
    spans = []
    limit, since = LADDER_KHZ[-1], None
    for write in found:
        khz = int(write.text)
        limit = limit if write.who == US else khz
        if since is not None and (write.who != US or khz <= limit):
            spans.append((since, write.at_s - since))
            since = None
        if khz > limit and since is None:
            since = write.at_s
    return spans


def change_limits(policy: Policy, moments: random.Random, cap: int) -> int:
    """Write one limit after the other, never equal to happed's cap. Return the newest."""
    newest = 0
    for _ in range(CHANGES):
        newest = moments.choice([khz for khz in LADDER_KHZ if khz not in (cap, newest)])
        policy.write("scaling_max_freq", newest)
        spend(moments.uniform(0.05, 2.5))
    return newest


def is_left(policy: Policy, limit: int) -> None:
    """Assert that no setting of happed remains, and that the newest limit is in force."""
    wait_until(lambda: not FOUND.exists(), "nothing is left to restore")
    wait_until(lambda: policy.khz("scaling_max_freq") == limit, f"the limit is the newest, {limit}", timeout_s=5)


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.long)])
def test_all_limits_are_kept_and_the_newest_is_left_after_stops_and_kills(
    capped: Policy, rounds: int, show: Show
) -> None:
    policy, moments = capped, random.Random(SEED)
    newest = LADDER_KHZ[-1]
    with written() as trace, no_restart():
        for number in range(rounds):
            happed = Happed()
            happed.wait_for("governing")
            assert happed.property("Backend") == "cap"
            cap = moments.choice(LADDER_KHZ)
            wants(happed, cap)
            newest = change_limits(policy, moments, cap)
            if number % 2:
                spend(PERIOD_S + moments.uniform(LATE_S, 2.5))  # a kill loses what happed has not read yet
                os.kill(happed.pid, signal.SIGKILL)
            else:
                happed.stop()
            is_left(policy, newest)
        found = [write for write in writes(trace.read_text()) if write.file == "scaling_max_freq"]
    spans = exceeded(found)
    mine = sum(write.who == US for write in found)
    longest = max((length for _, length in spans), default=0.0)
    show(
        "foreign-limits",
        [
            f"changes of the limit          {len(found) - mine}",
            f"happed's writes               {mine}",
            f"its cap was above the limit   {len(spans)} times, at most {longest:.3f} s",
        ],
    )
    assert len(found) - mine >= rounds * CHANGES
    assert longest <= PERIOD_S + LATE_S, spans
