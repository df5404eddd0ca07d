# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated T61 itself. If one of these tests fails, the others' failures say nothing about HAPPE."""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61 import cpufreq, firmware, sessions
from t61.bus import Signals
from t61.cpufreq import LADDER_KHZ, PERF_CTL, busy, perf_ctl, set_online, set_tunable
from t61.waiting import wait_until

if TYPE_CHECKING:
    from t61.cpufreq import Policy
    from t61.keyboard import Keyboard
    from t61.sessions import Session

BATTERY = Path("/sys/class/power_supply/BAT0")
MAINS = Path("/sys/class/power_supply/ADP1")
PM_TEST = Path("/sys/power/pm_test")
PM_TEST_DELAY = Path("/sys/module/suspend/parameters/pm_test_delay")
EVIOCSMASK = 0x40104593
EV_SYN, EV_KEY, EV_MSC = 0, 1, 4
KEY_CODES = 768
EVENT_BYTES = 24


@pytest.mark.ci
def test_the_driver_knows_the_five_frequencies_of_two_processors(policy: Policy) -> None:
    assert policy.read("scaling_driver") == "acpi-cpufreq"
    assert sorted(map(int, policy.read("scaling_available_frequencies").split())) == LADDER_KHZ
    assert policy.read("affected_cpus") == "0 1"
    assert {"ondemand", "userspace"} <= set(policy.read("scaling_available_governors").split())


@pytest.mark.parametrize("khz", LADDER_KHZ)
def test_a_target_reaches_the_processors_register(policy: Policy, khz: int) -> None:
    policy.governor = "userspace"
    policy.write("scaling_setspeed", khz)
    assert (policy.khz("scaling_cur_freq"), perf_ctl()) == (khz, PERF_CTL[khz])


def test_ondemand_has_the_two_tunables(policy: Policy) -> None:
    set_tunable("sampling_rate", 80_000)
    set_tunable("up_threshold", 70)
    assert policy.state().items() >= {"ondemand/sampling_rate": "80000", "ondemand/up_threshold": "70"}.items()


def test_ondemand_follows_load(policy: Policy) -> None:
    policy.reset_stats()
    with busy(1):
        wait_until(lambda: policy.time_in_state_s()[LADDER_KHZ[-1]] > 2, "a busy CPU has run at the top for 2 s")
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[0], "an idle one runs at the bottom")


def test_the_platform_limits_the_frequency(policy: Policy) -> None:
    policy.governor = "userspace"
    policy.write("scaling_setspeed", LADDER_KHZ[-1])
    firmware.limit(2)
    files = ("bios_limit", "scaling_max_freq", "scaling_cur_freq")  # the kernel changes one after the other
    wait_until(lambda: {policy.khz(name) for name in files} == {1_600_000}, "every file has the limit")
    firmware.limit(0)
    wait_until(lambda: policy.khz("scaling_max_freq") == LADDER_KHZ[-1], "the limit is lifted")


def test_a_processor_goes_off_and_on(policy: Policy) -> None:
    set_online(1, online=False)
    assert (policy.read("affected_cpus"), policy.read("related_cpus")) == ("0", "0 1")
    set_online(1, online=True)
    assert (policy.read("affected_cpus"), policy.governor) == ("0 1", "ondemand")


def test_mains_and_battery_can_change() -> None:
    assert ((MAINS / "online").read_text(), (BATTERY / "status").read_text()) == ("1\n", "Charging\n")
    firmware.mains(plugged_in=False)
    wait_until(lambda: (MAINS / "online").read_text() == "0\n", "the adapter is out")
    wait_until(lambda: (BATTERY / "status").read_text() == "Discharging\n", "the battery discharges")
    firmware.mains(plugged_in=True)
    wait_until(lambda: (MAINS / "online").read_text() == "1\n", "the adapter is in")


class InputMask(ctypes.Structure):
    """struct input_mask."""

    _fields_ = (("type", ctypes.c_uint32), ("codes_size", ctypes.c_uint32), ("codes_ptr", ctypes.c_uint64))


def allow_only(device: int, event_type: int, codes: set[int]) -> None:
    """Make the kernel queue no other code of this type for this descriptor."""
    bits = bytearray(KEY_CODES // 8)
    for code in codes:
        bits[code // 8] |= 1 << code % 8
    buffer = (ctypes.c_char * len(bits)).from_buffer(bits)
    fcntl.ioctl(device, EVIOCSMASK, bytes(InputMask(event_type, len(bits), ctypes.addressof(buffer))))


def test_masked_keys_wake_nobody(keyboard: Keyboard) -> None:
    from evdev import ecodes  # noqa: PLC0415 - evdev takes a while to import here

    masked, unmasked = (os.open(keyboard.node, os.O_RDONLY | os.O_NONBLOCK) for _ in range(2))
    allow_only(masked, EV_SYN, {EV_KEY})  # the mask of types
    allow_only(masked, EV_KEY, {ecodes.KEY_PROG1})
    for _ in range(10):
        keyboard.press(ecodes.KEY_A)
        assert select.select([masked, unmasked], [], [], 1.0)[0] == [unmasked]
        os.read(unmasked, 64 * EVENT_BYTES)
    keyboard.press(ecodes.KEY_PROG1)
    assert select.select([masked], [], [], 1.0)[0] == [masked]
    os.close(masked)
    os.close(unmasked)


def test_an_unplugged_keyboards_node_is_gone(keyboard: Keyboard) -> None:
    assert Path(keyboard.node).is_char_device()
    keyboard.unplug()
    wait_until(lambda: not Path(keyboard.node).exists(), "the node is gone")


def test_the_system_is_up() -> None:
    assert sessions.command("systemctl", "is-system-running", "--wait") == "running"
    assert "seat0" in sessions.command("loginctl", "list-seats", "--no-legend")
    version = sessions.command(
        "busctl", "get-property", "org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
        "org.freedesktop.PolicyKit1.Authority", "BackendVersion",
    )  # fmt: skip
    assert version == 's "122"'


def test_python_reaches_the_bus() -> None:
    import dbus  # noqa: PLC0415 - takes a while to import here

    bus = dbus.SystemBus()
    assert bus.name_has_owner("org.freedesktop.login1")
    bus.close()


@pytest.mark.parametrize("name", ["power-profiles-daemon", "tuned", "thermald"])
def test_rivals_are_installed_and_do_not_run(name: str) -> None:
    shown = sessions.command("systemctl", "show", "--property=LoadState,ActiveState", "--value", name)
    assert shown.split() == ["loaded", "inactive"]


def test_what_was_built_runs() -> None:
    """The host has linked the programs, so this machine must have every library."""
    programs = [
        path
        for path in (Path("/usr/bin/happe-sim"), Path("/usr/bin/happectl"), Path("/usr/sbin/happed"))
        if path.is_file()
    ]
    assert programs, "something was installed"
    for program in programs:
        ran = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_alice_is_at_the_machine(alice: Session) -> None:
    assert sessions.active_session() == alice.identity
    assert [alice.property(name) for name in ("Name", "Class", "Seat", "VTNr", "State")] == [
        "alice",
        "user",
        "seat0",
        "1",
        "active",
    ]
    ran = alice.run("sh", "-c", "id -un; loginctl show-session self --property=Id --value")
    assert ran.stdout.split() == ["alice", alice.identity]


def test_screens_lock_and_unlock(alice: Session) -> None:
    alice.lock()
    assert alice.property("LockedHint") == "yes"
    alice.unlock()
    assert alice.property("LockedHint") == "no"


def test_people_take_turns(alice: Session, bob: Session) -> None:
    assert (alice.property("Active"), bob.property("Active")) == ("yes", "no")
    bob.activate()
    assert (alice.property("Active"), bob.property("Active")) == ("no", "yes")
    sessions.nobody_at_the_machine()
    assert bob.property("Active") == "no"


def test_a_greeter_is_no_user() -> None:
    greeter = sessions.log_in("bob", vt=3, session_class="greeter")
    assert greeter.property("Class") == "greeter"
    greeter.close()


def test_polkit_tells_who_is_at_the_machine(alice: Session, bob: Session) -> None:
    ask = "pkcheck --action-id org.freedesktop.login1.suspend --process $$"
    assert alice.run("sh", "-c", ask).returncode == 0
    assert bob.run("sh", "-c", ask).returncode != 0


def test_a_suspend_is_announced_and_rehearsed(policy: Policy) -> None:
    before = policy.state()
    PM_TEST_DELAY.write_text("1")
    PM_TEST.write_text("core")
    try:
        with Signals("member='PrepareForSleep'") as signals:
            sessions.command("systemctl", "suspend")
            assert signals.next()["payload"] == [True]
            assert signals.next(timeout_s=40)["payload"] == [False]
    finally:
        PM_TEST.write_text("none")
    assert policy.state() == before
    assert cpufreq.CPUS.joinpath("online").read_text() == "0-1\n"
