# SPDX-License-Identifier: GPL-2.0-or-later
"""happed-keys, started by its socket, on the kernel's own input devices."""

import array
import errno
import fcntl
import os
import select
import socket
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from evdev import ecodes

from t61.keyboard import DOWN, LETTERS, UP, Keyboard

SOCKET = "/run/happe-keys.sock"
QUESTION = "happe-keys 1 open {} KEY_PROG1 KEY_PROG2"
EVENT = struct.Struct("@llHHi")
EVIOCGMASK = 0x80104592
PATIENCE_S = 120


@dataclass
class Handed:
    """A keyboard as happed-keys hands it over."""

    node: str
    file: int

    def turned(self, patience_s: float = 1.0) -> list[tuple[int, int]]:
        """Read the waiting key events, as (code, value)."""
        if not select.select([self.file], [], [], patience_s)[0]:
            return []
        events = EVENT.iter_unpack(os.read(self.file, 64 * EVENT.size))
        return [(code, value) for _, _, kind, code, value in events if kind == ecodes.EV_KEY]

    def mask(self, kind: int, codes: int) -> set[int]:
        """Return the codes of a type that the kernel lets through. For EV_SYN these are the types."""
        bits = array.array("B", bytes(codes // 8 + 7 & ~7))
        address, _ = bits.buffer_info()
        fcntl.ioctl(self.file, EVIOCGMASK, struct.pack("@IIQ", kind, len(bits), address))
        return {code for code in range(codes) if bits[code // 8] >> code % 8 & 1}


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    """Connect to the helper, which systemd starts."""
    subprocess.run(["systemctl", "start", "happed-keys.socket"], check=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as made:
        made.settimeout(PATIENCE_S)
        made.connect(SOCKET)
        yield made


def answers(connection: socket.socket) -> tuple[list[Handed], list[str]]:
    """Return all keyboards that the helper hands over, and all other packets."""
    handed: list[Handed] = []
    said: list[str] = []
    while True:
        packet, files, _, _ = socket.recv_fds(connection, 4096, 4)
        if not packet:
            return handed, said
        if files:
            handed.append(Handed(packet.decode().split(" ")[1], files[0]))
        else:
            said.append(packet.decode())


def opened(connection: socket.socket, keyboard: Keyboard) -> Handed:
    """Ask for one keyboard and get it."""
    connection.send(QUESTION.format(Path(keyboard.node).name).encode())
    [handed], said = answers(connection)
    assert said == ["end"]
    return handed


def test_of_all_devices_those_with_one_of_the_two_keys_are_handed_over(
    connection: socket.socket, keyboard: Keyboard
) -> None:
    with Keyboard(LETTERS), Keyboard([ecodes.KEY_PROG2]) as pedal:
        connection.send(QUESTION.format("all").encode())
        handed, said = answers(connection)

    assert said == ["end"]
    assert {one.node for one in handed} == {Path(each.node).name for each in (keyboard, pedal)}


@pytest.mark.ci
def test_only_the_two_keys_are_ever_readable_and_only_they_wake_the_reader(
    connection: socket.socket, keyboard: Keyboard
) -> None:
    handed = opened(connection, keyboard)
    assert handed.mask(ecodes.EV_SYN, 32) == {ecodes.EV_KEY}
    assert handed.mask(ecodes.EV_KEY, ecodes.KEY_CNT) == {ecodes.KEY_PROG1, ecodes.KEY_PROG2}

    for _ in range(100):
        keyboard.press(ecodes.KEY_LEFTCTRL, ecodes.KEY_A)
    assert not select.select([handed.file], [], [], 0.5)[0]

    keyboard.press(ecodes.KEY_B, ecodes.KEY_PROG1)
    keyboard.press(ecodes.KEY_PROG2)
    assert handed.turned() == [
        (ecodes.KEY_PROG1, DOWN), (ecodes.KEY_PROG1, UP), (ecodes.KEY_PROG2, DOWN), (ecodes.KEY_PROG2, UP),
    ]  # fmt: skip


def test_a_keyboard_that_is_unplugged_says_so_and_its_node_is_no_error(
    connection: socket.socket, keyboard: Keyboard
) -> None:
    handed = opened(connection, keyboard)
    node = Path(keyboard.node).name

    keyboard.unplug()

    with pytest.raises(OSError, match=r".") as unplugged:
        handed.turned(PATIENCE_S)
    assert unplugged.value.errno == errno.ENODEV
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as again:
        again.connect(SOCKET)
        again.send(QUESTION.format(node).encode())
        assert answers(again) == ([], ["end"])


def test_a_key_is_learned_by_pressing_it_unless_it_types(connection: socket.socket) -> None:
    with Keyboard([ecodes.KEY_A, ecodes.KEY_LEFTSHIFT, ecodes.KEY_F12]) as keyboard:
        connection.send(b"happe-keys 1 learn 30000")
        while not select.select([connection], [], [], 0.3)[0]:  # until the helper listens
            keyboard.press(ecodes.KEY_LEFTSHIFT, ecodes.KEY_A)
            keyboard.press(ecodes.KEY_F12)
        _, said = answers(connection)
    assert said == ["key KEY_F12", "end"]


@pytest.mark.usefixtures("connection")
def test_whoever_is_not_root_cannot_ask() -> None:
    script = f"import socket; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect({SOCKET!r})"
    ended = subprocess.run(
        ["runuser", "-u", "alice", "--", "/usr/bin/python3", "-c", script], check=False, capture_output=True
    )
    assert b"PermissionError" in ended.stderr
