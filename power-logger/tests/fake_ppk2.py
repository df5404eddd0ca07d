# SPDX-License-Identifier: GPL-2.0-or-later
"""A Power Profiler Kit II on a pseudo-terminal: it answers commands, and samples by a clock that a test moves."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import termios
import threading
import tty
from typing import TYPE_CHECKING

import numpy as np

from happe_power.sources.clock import MICROS, VirtualClock
from patience import spend

if TYPE_CHECKING:
    from pathlib import Path

START, STOP, METADATA = 0x06, 0x07, 0x19
LENGTHS = {0x11: 2, 0x0D: 3}  # lengths of commands in bytes; the others have one byte
MODIFIERS = {
    "R": (1031.64, 101.65, 10.15, 0.94, 0.043),
    "GS": (1, 1, 1, 1, 0.5),
    "GI": (1, 1, 1, 1, 0.97),
    "O": (0, 9, 0, 0, 77),
}
RANGE = 3
COMMAND_S = 0.5  # a command reaches the kit within this time
ROOM = 2048  # bytes that may wait in the terminal; then the kit drops words


class FakeKit(VirtualClock):
    """The kit is also the test's clock: when the clock sleeps, the kit samples.

    A sample's number is the clock's time multiplied by the rate, and its value is this number modulo 16,384. `fault`:
    words (one of 200 words is random), bytes (three bytes that belong to no word precede the words), silent. `sent`
    holds the numbers that the kit sent undamaged.
    """

    def __init__(self, path: Path, rate_hz: float) -> None:
        """Make a kit that is plugged in at a path."""
        super().__init__()
        self.path, self.rate_hz = path, rate_hz
        self.fault = ""
        self.sent: list[int] = []
        self._random = np.random.default_rng(7)
        self._lock = threading.Lock()
        self._master = self._slave = -1
        self._made: int | None = None  # the next number; None: it does not measure
        self._counter = 0
        self.plug()

    @property
    def number(self) -> int:
        """Return the number of the present sample."""
        return int(self.now().monotonic_us * self.rate_hz / MICROS)

    @property
    def plugged(self) -> bool:
        """Whether it is plugged in."""
        return self._master >= 0

    def plug(self) -> None:
        """Plug it in."""
        with self._lock:
            self._master, self._slave = pty.openpty()
            tty.setraw(self._slave)
            self._made = None
            self.path.symlink_to(os.ttyname(self._slave))
        threading.Thread(target=self._listen, daemon=True).start()

    def unplug(self) -> None:
        """Pull it out."""
        with self._lock:
            self.path.unlink()
            os.close(self._slave)
            os.close(self._master)
            self._master = -1

    def sleep(self, seconds: float) -> None:
        """Let time pass. The kit samples meanwhile."""
        with self._lock:
            if self.plugged:
                if self._made is None:  # the kernel may not have delivered the command to begin
                    select.select([self._master], [], [], COMMAND_S)
                self._obey()
            super().sleep(seconds)
            if self.plugged and self._made is not None:
                self._sample(self.number)

    def _listen(self) -> None:
        """Take commands until it is pulled out: the source may wait for an answer while the clock stands."""
        while True:
            with self._lock:
                if not self.plugged:
                    return
                self._obey()
            spend(0.01)

    def _obey(self) -> None:
        while select.select([self._master], [], [], 0)[0]:
            commands = os.read(self._master, 64)
            while commands:
                self._take(commands[0])
                commands = commands[LENGTHS.get(commands[0], 1) :]

    def _take(self, command: int) -> None:
        if command == METADATA:
            lines = [f"{key}{at}: {value}" for key, values in MODIFIERS.items() for at, value in enumerate(values)]
            os.write(self._master, "\n".join(["Calibrated: 0", *lines, "HW: 9173", "IA: 56", "END"]).encode())
        elif command in (START, STOP):
            self._made = self.number if command == START else None

    def _sample(self, until: int) -> None:
        """Send as many samples as fit, and drop the rest. Only the counter shows that some were dropped."""
        assert self._made is not None
        numbers = np.arange(self._made, until)
        counters = (self._counter + np.arange(len(numbers))) % 64
        self._counter, self._made = (self._counter + len(numbers)) % 64, until
        if self.fault == "silent":
            return
        waiting = self._waiting()
        room = (ROOM - waiting) // 4
        numbers, counters = numbers[:room], counters[:room]
        words = (numbers % (1 << 14)) | RANGE << 14 | counters << 18
        good = np.ones(len(words), bool)
        if self.fault == "words":
            good = numbers % 200 != 0
            strange = self._random.integers(0, 1 << 32, len(words)) & ~(63 << 18) | (counters + 17) % 64 << 18
            words = np.where(good, words, strange)
        self.sent += numbers[good].tolist()
        more = b"\x01\x02\x03" if self.fault == "bytes" else b""
        data = more + words.astype("<u4").tobytes()
        os.write(self._master, data)
        while self._waiting() < waiting + len(data):  # until the kernel has delivered all of it
            spend(0)

    def _waiting(self) -> int:
        """Return how many bytes nobody has read."""
        count: int = struct.unpack("i", fcntl.ioctl(self._slave, termios.FIONREAD, b"\0" * 4))[0]
        return count
