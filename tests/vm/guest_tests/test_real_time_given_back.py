# SPDX-License-Identifier: GPL-2.0-or-later
"""happed restores the state that it found, whatever ends its governing, and governs again afterwards."""

import os
import random
import signal
from collections.abc import Iterator

import pytest

from t61.cpufreq import LADDER_KHZ, Policy, set_online, set_tunable
from t61.firmware import limit, mains
from t61.happe import CONFIGURATION, FOUND, Happed, no_restart, wants
from t61.sessions import Session, log_in, nobody_at_the_machine
from t61.waiting import spend, wait_until

SEED = 2026


@pytest.fixture(autouse=True)
def owners_choice(policy: Policy) -> Iterator[dict[str, str]]:
    """The owner has changed limits and tunables. A restored default would prove little."""
    policy.write("scaling_max_freq", LADDER_KHZ[3])
    set_tunable("up_threshold", 71)
    set_tunable("sampling_rate", 123_000)
    # The kernel applies new limits a moment after the write.
    wait_until(lambda: policy.khz("scaling_max_freq") == LADDER_KHZ[3], "the owner's limit is in force")
    yield policy.state()
    limit(0)


def governs(policy: Policy) -> None:
    """Wait until HAPPE governs."""
    wait_until(lambda: policy.governor == "userspace", "HAPPE governs")


def as_found(policy: Policy, found: dict[str, str]) -> None:
    """Wait until everything is in its original state."""
    wait_until(lambda: policy.state() == found, f"the machine is as it was found: {found}")
    wait_until(lambda: not FOUND.exists(), "nothing is left to restore")


@pytest.mark.ci
def test_it_is_given_back_on_stop(happed: Happed, policy: Policy, owners_choice: dict[str, str]) -> None:
    assert FOUND.exists()
    happed.stop()
    as_found(policy, owners_choice)


@pytest.mark.parametrize("kills", [pytest.param(3, marks=pytest.mark.ci), 20])
def test_it_is_given_back_after_every_kill(
    happed: Happed, policy: Policy, owners_choice: dict[str, str], kills: int
) -> None:
    """Systemd runs `happed --restore` after the kill, and starts happed again."""
    moments = random.Random(SEED)
    with no_restart():
        for _ in range(kills):
            spend(moments.uniform(0.0, 0.3))
            os.kill(happed.pid, signal.SIGKILL)
            as_found(policy, owners_choice)
            happed.start()
            governs(policy) if moments.random() < 0.5 else None


def test_systemd_starts_it_again_after_a_kill(happed: Happed, policy: Policy) -> None:
    before = happed.pid
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: happed.pid not in (0, before), "systemd has started it again")
    governs(policy)


@pytest.mark.ci
def test_it_is_given_back_while_the_session_is_locked(
    happed: Happed, policy: Policy, owners_choice: dict[str, str], alice: Session
) -> None:
    alice.lock()
    as_found(policy, owners_choice)
    assert happed.property("Reason") == "the active session is locked"
    alice.unlock()
    governs(policy)


def test_it_is_given_back_when_nobody_is_there_and_to_the_greeter(
    happed: Happed, policy: Policy, owners_choice: dict[str, str], alice: Session
) -> None:
    nobody_at_the_machine()
    as_found(policy, owners_choice)
    greeter = log_in("bob", vt=3, session_class="greeter")
    try:
        happed.wait_for("released")
        assert happed.property("Reason") == "the active session is of class greeter"
        assert policy.state() == owners_choice
    finally:
        greeter.close()
    alice.activate()
    governs(policy)


def test_another_user_is_served_when_they_come_to_the_front(happed: Happed, policy: Policy, bob: Session) -> None:
    assert happed.property("User") == "alice"
    bob.activate()
    wait_until(lambda: happed.property("User") == "bob", "Bob is served")
    governs(policy)


def test_processor_one_goes_and_comes(happed: Happed, policy: Policy) -> None:
    set_online(1, online=False)
    spend(1.5)
    assert policy.governor == "userspace"
    set_online(1, online=True)
    spend(1.5)
    assert policy.governor == "userspace"
    assert happed.property("State") == "governing"


def test_a_limit_of_the_firmware_is_kept_and_is_no_fight(happed: Happed, policy: Policy) -> None:
    wants(happed, LADDER_KHZ[-1])
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[3], "the owner's limit is reached")
    limit(2)
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[2], "the firmware's limit holds")
    spend(5)
    assert policy.khz("scaling_cur_freq") == LADDER_KHZ[2]
    assert happed.property("State") == "governing"
    limit(0)
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[3], "without it the owner's limit holds again")
    assert policy.khz("scaling_max_freq") == LADDER_KHZ[3]


@pytest.mark.usefixtures("alice")
def test_the_kernel_tells_when_the_laptop_is_plugged_in(policy: Policy) -> None:
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.write_text("[mains]\ngovern = false\n")
    mains(plugged_in=False)
    happed = Happed()
    try:
        for _ in range(2):
            happed.wait_for("governing")
            assert happed.property("Source") == "battery"
            mains(plugged_in=True)
            happed.wait_for("released")
            assert happed.property("Source") == "mains"
            assert policy.governor == "ondemand"
            mains(plugged_in=False)
        happed.wait_for("governing")
    finally:
        happed.stop()
        CONFIGURATION.unlink()
        mains(plugged_in=True)
