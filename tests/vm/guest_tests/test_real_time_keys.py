# SPDX-License-Identifier: GPL-2.0-or-later
"""The two keys teach. happed learns of no other key."""

from pathlib import Path

import pytest
from evdev import ecodes

from t61.cpufreq import LADDER_KHZ, Policy
from t61.happe import Happed
from t61.keyboard import Keyboard
from t61.sessions import Session, command
from t61.waiting import spend, wait_until

FOREIGN_EVENTS = 10_000


def read_bytes(pid: int) -> int:
    """Return the number of bytes that a process has read."""
    return int(Path(f"/proc/{pid}/io").read_text().split("rchar:")[1].split()[0])


def type_foreign_keys(keyboard: Keyboard, events: int) -> None:
    """Type letters with a modifier."""
    for _ in range(events // 4):
        keyboard.press(ecodes.KEY_LEFTCTRL, ecodes.KEY_A)


def idle(happed: Happed, alice: Session) -> None:
    """Lock the screen. Then happed has nothing to do, and only the keyboard can wake it."""
    alice.lock()
    happed.wait_for("released")
    spend(1)


@pytest.mark.ci
def test_a_press_raises_the_frequency_at_once_and_is_kept(happed: Happed, policy: Policy, keyboard: Keyboard) -> None:
    happed.wait_for_keyboards(1)
    wait_until(lambda: policy.khz("scaling_setspeed") == LADDER_KHZ[0], "it begins at the lowest frequency")
    keyboard.press(ecodes.KEY_PROG1)
    wait_until(lambda: policy.khz("scaling_setspeed") > LADDER_KHZ[0], "the frequency rises")
    [event] = happed.call("ListEvents", "ssxu", "alice", "desktop", "0", "10")[0]
    assert event[2] == "performance"
    assert event[6] > event[5] or event[6] == LADDER_KHZ[-1]
    line = [line for line in happed.journal() if line.get("HAPPE_WHY") == "performance key"][-1]
    assert (line["HAPPE_USER"], line["HAPPE_APPLICATION"], line["HAPPE_POLICY"]) == ("alice", "desktop", "0")
    assert int(line["HAPPE_TO_KHZ"]) == event[6]
    spend(1.1)
    keyboard.press(ecodes.KEY_PROG2)
    wait_until(lambda: len(happed.call("ListEvents", "ssxu", "alice", "desktop", "0", "10")[0]) == 2, "the other key")
    happed.call("ResetProfile", "ss", "alice", "desktop")


def test_a_keyboard_is_found_when_it_is_plugged_in_and_forgotten_when_it_goes(happed: Happed) -> None:
    happed.wait_for_keyboards(0)
    with Keyboard() as first, Keyboard([ecodes.KEY_PROG2]):
        happed.wait_for_keyboards(2)
        first.unplug()
        happed.wait_for_keyboards(1)
    happed.wait_for_keyboards(0)
    with Keyboard() as again:
        happed.wait_for_keyboards(1)
        again.press(ecodes.KEY_PROG1)
        wait_until(lambda: happed.call("ListProfiles", "s", "alice")[0], "it is heard")
    happed.call("ResetProfile", "ss", "alice", "desktop")


def test_ten_thousand_foreign_key_events_neither_wake_it_nor_are_read(
    happed: Happed, alice: Session, keyboard: Keyboard
) -> None:
    happed.wait_for_keyboards(1)
    idle(happed, alice)
    pid, wake_ups = happed.pid, happed.wake_ups()
    count = read_bytes(pid)

    type_foreign_keys(keyboard, FOREIGN_EVENTS)
    spend(1)

    assert happed.wake_ups() == wake_ups
    assert read_bytes(pid) == count
    keyboard.press(ecodes.KEY_PROG1)
    wait_until(lambda: happed.wake_ups() > wake_ups, "its own key wakes it")


def test_in_its_unit_no_ioctl_is_allowed_and_no_device_can_be_opened(keyboard: Keyboard) -> None:
    """A program in the place of happed tries it."""
    tries = (
        "ioctl(STDIN, 0x80604518, my $keys = chr(0) x 96) or print qq($!\\n);"  # EVIOCGKEY
        f"open(my $node, '<', '{keyboard.node}') or print qq($!\\n);"
        "socket(my $internet, 2, 1, 0) or print qq($!\\n);"
        "open(my $status, '<', '/proc/self/status'); print((split)[1]) for grep { /^CapEff/ } <$status>;"
    )
    unit = Path("/run/systemd/system/happed-tries.service")
    service = Path("/usr/lib/systemd/system/happed.service").read_text()
    lines = [line for line in service.splitlines() if not line.startswith(("Exec", "Type=", "BusName=", "Watchdog"))]
    start = lines.index("[Service]") + 1
    Path("/run/tries.pl").write_text(tries)  # Python itself can't open a file without ioctl
    lines[start:start] = ["Type=oneshot", "ExecStart=/usr/bin/perl /run/tries.pl", "StandardOutput=file:/run/tried"]
    unit.write_text("\n".join(line for line in lines if not line.startswith(("Restart", "StateD", "RuntimeD"))))
    try:
        command("systemctl", "daemon-reload")
        command("systemctl", "start", "happed-tries.service")
    finally:
        unit.unlink()
        command("systemctl", "daemon-reload")
    denied, closed = "Operation not permitted", ("Operation not permitted", "Permission denied")
    said = Path("/run/tried").read_text().splitlines()
    assert said[0] == denied
    assert said[1] in closed
    assert said[2] == "Address family not supported by protocol"
    assert int(said[3], 16) == 0
