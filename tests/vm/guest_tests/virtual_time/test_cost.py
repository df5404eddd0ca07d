# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the cost of happed with other daemons and with the least work of any such program (docs/cost.md).

Here time counts instructions, so the figures are the same on any host. Each test prints its table and leaves it in
the results.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.cost import (
    SETTLE_S,
    Spent,
    beside_bare_reads,
    memory_kib,
    peak_kib,
    processes_of,
    sample_table,
    setspeed_files,
    spent,
)
from t61.happe import UNIT
from t61.sessions import command, nobody_at_the_machine
from t61.waiting import spend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from t61.cpufreq import Policy
    from t61.happe import Happed
    from t61.keyboard import Keyboard

    Show = Callable[[str, list[str]], None]

OTHERS = ["power-profiles-daemon.service", "thermald.service", "tuned.service"]
THERMALD_HERE = """[Unit]
ConditionVirtualization=
[Service]
ExecStart=
ExecStart=/usr/sbin/thermald --systemd --dbus-enable --adaptive --ignore-cpuid-check
"""

IDLE_S = 300
SAMPLES = 240  # two periods of the watchdog


@pytest.fixture
def thermald() -> Iterator[None]:
    """Make thermald run here. By itself it refuses virtual machines and processors of this age."""
    folder = Path("/run/systemd/system/thermald.service.d")
    folder.mkdir(parents=True)
    (folder / "here.conf").write_text(THERMALD_HERE)
    command("systemctl", "daemon-reload")
    yield
    shutil.rmtree(folder)
    command("systemctl", "daemon-reload")


@dataclass(frozen=True)
class Idle:
    """The cost of a daemon while nothing happened."""

    name: str
    used: Spent
    rss_kib: int
    pss_kib: int
    peak_kib: int

    @property
    def wake_ups_a_minute(self) -> float:
        """Return how often it woke the processor."""
        return self.used.wake_ups * 60 / IDLE_S

    def line(self) -> str:
        """Its row of the table."""
        cpu_ms = self.used.cpu_ns * 60 / IDLE_S / 1e6
        return (
            f"{self.name:32} {cpu_ms:9.2f} {self.wake_ups_a_minute:11.1f} "
            f"{self.rss_kib / 1024:8.2f} {self.pss_kib / 1024:8.2f} {self.peak_kib / 1024:9.2f}"
        )


def idle(name: str, unit: str) -> Idle:
    """Let a service settle, then watch it."""
    spend(SETTLE_S)
    pids = processes_of(unit)
    before = spent(pids)
    spend(IDLE_S)
    return Idle(name, spent(pids) - before, *memory_kib(pids), peak_kib(pids))


def idle_of_another(unit: str) -> Idle:
    """Start one of the other daemons, watch it, stop it."""
    command("systemctl", "start", unit)
    try:
        return idle(unit.removesuffix(".service"), unit)
    finally:
        command("systemctl", "stop", unit)


def live_a_little(happed: Happed, keyboard: Keyboard) -> None:
    """Act like a person: press some keys, and look at the state."""
    from evdev import ecodes  # noqa: PLC0415 - slow to import here

    happed.wait_for_keyboards(1)
    for key in [ecodes.KEY_PROG1, ecodes.KEY_PROG2] * 5:
        keyboard.press(key)
        spend(2)
        happed.property("Profile")
        happed.call("ListProfiles", "s", "alice")


@pytest.mark.long
@pytest.mark.usefixtures("thermald")
def test_idle_it_costs_a_wake_up_a_second_at_most(
    policy: Policy, happed: Happed, keyboard: Keyboard, show: Show
) -> None:
    live_a_little(happed, keyboard)
    somebody = idle("happed, somebody there", UNIT)
    assert policy.governor == "userspace"
    nobody_at_the_machine()
    happed.wait_for("released")
    nobody = idle("happed, nobody there", UNIT)
    happed.stop()
    others = [idle_of_another(unit) for unit in OTHERS]
    heading = f"{'':32} {'CPU ms/min':>9} {'wake-ups/min':>11} {'RSS MiB':>7} {'PSS MiB':>8} {'peak RSS':>9}"
    show("idle", [heading, *(row.line() for row in [somebody, nobody, *others])])

    assert somebody.wake_ups_a_minute <= 60
    assert nobody.used.wake_ups == 0


def test_a_sample_costs_at_most_one_and_a_half_bare_reads(policy: Policy, happed: Happed, show: Show) -> None:
    mine, least = beside_bare_reads(happed.pid, setspeed_files([policy]), SAMPLES)
    show("sample", sample_table(mine, least))
    assert least.wake_ups == pytest.approx(SAMPLES, abs=1)
    assert mine.wake_ups == pytest.approx(SAMPLES, abs=1)
    assert mine.cpu_ns / least.cpu_ns <= 1.5
