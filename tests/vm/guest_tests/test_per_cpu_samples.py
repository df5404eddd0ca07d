# SPDX-License-Identifier: GPL-2.0-or-later
"""Eight CPUs with a policy each: what a sample of all of them costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from t61.cost import beside_bare_reads, cap_files, sample_table, setspeed_files
from t61.cpufreq import Policy, without_userspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from t61.happe import Happed

    Show = Callable[[str, list[str]], None]

CPUS = 8
POLICIES = [Policy(number) for number in range(CPUS)]
SAMPLES = 60


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
