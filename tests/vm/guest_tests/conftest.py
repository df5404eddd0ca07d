# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures that the tests in the guest share. Every test restores the machine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61 import firmware
from t61.cpufreq import CPUS, LADDER_KHZ, Policy, set_online
from t61.sessions import log_in
from t61.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from pluggy import Result

    from t61.happe import Happed
    from t61.keyboard import Keyboard
    from t61.sessions import Session


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Result[pytest.TestReport], None]:
    """Show with a failure what HAPPE's units have logged meanwhile."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        journal = ["journalctl", "--boot", "--no-pager", "--lines=60", "--output=short-monotonic", "--unit=happed*"]
        written = subprocess.run(journal, check=False, stdout=subprocess.PIPE, text=True).stdout
        report.sections.append((f"journal of happed, {item.name}", written))


@pytest.fixture
def policy() -> Iterator[Policy]:
    """The T61's policy: ondemand governs with its own tunables and no limits, before the test and after it."""
    one = Policy()
    back_to_ondemand(one)
    yield one
    firmware.limit(0)
    for online in CPUS.glob("cpu[1-9]/online"):
        set_online(int(online.parent.name.removeprefix("cpu")), online=True)
    back_to_ondemand(one)


def back_to_ondemand(policy: Policy) -> None:
    """Set the machine to the state that the tests expect."""
    policy.governor = "schedutil"  # ondemand forgets its tunables
    policy.governor = "ondemand"
    policy.write("scaling_min_freq", LADDER_KHZ[0])
    policy.write("scaling_max_freq", LADDER_KHZ[-1])
    wait_until(lambda: policy.khz("scaling_max_freq") == LADDER_KHZ[-1], "the limit is in force")


@pytest.fixture
def keyboard() -> Iterator[Keyboard]:
    """A keyboard with letters, KEY_PROG1 and KEY_PROG2, plugged in."""
    from t61.keyboard import Keyboard  # noqa: PLC0415 - evdev takes a while to import here

    with Keyboard() as one:
        yield one


@pytest.fixture
def alice() -> Iterator[Session]:
    """Alice, logged in on tty1 in the foreground."""
    session = log_in("alice", vt=1)
    yield session
    session.close()


@pytest.fixture
def bob(alice: Session) -> Iterator[Session]:
    """Bob, logged in on tty2. Alice is logged in too, in the foreground."""
    session = log_in("bob", vt=2)
    alice.activate()
    yield session
    session.close()


@pytest.fixture(scope="session")
def comedi() -> Iterator[str]:
    """The simulated board of the module comedi_test: /dev/comedi0."""
    subprocess.run(["modprobe", "-a", "comedi", "comedi_test"], check=True)
    wait_until(Path("/dev/comedi0").exists, "the board is there")
    yield "/dev/comedi0"
    subprocess.run(["modprobe", "-r", "comedi_test"], check=True)


@pytest.fixture
def happed(policy: Policy, alice: Session) -> Iterator[Happed]:
    """Start the installed daemon, which governs for Alice. Stopped, it has restored the machine."""
    from t61.happe import FOUND, Happed  # noqa: PLC0415 - slow to import here

    found = policy.state()
    shutil.rmtree("/var/lib/happe", ignore_errors=True)
    daemon = Happed()
    wait_until(lambda: policy.governor == "userspace", "happed governs")
    daemon.wait_for("governing")  # it answers after checking its writes, which tests must not disturb
    yield daemon
    daemon.stop()
    assert policy.state() == found
    assert not FOUND.exists()
    assert alice.identity
