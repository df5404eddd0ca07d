# SPDX-License-Identifier: GPL-2.0-or-later
"""Keyboards to plug in and unplug (uinput)."""

import subprocess
from types import TracebackType
from typing import Self

from evdev import UInput, ecodes

LETTERS = [ecodes.KEY_A, ecodes.KEY_B, ecodes.KEY_C, ecodes.KEY_LEFTSHIFT, ecodes.KEY_LEFTCTRL]
SPECIAL = [ecodes.KEY_PROG1, ecodes.KEY_PROG2]
DOWN, UP = 1, 0


class Keyboard:
    """A USB keyboard, plugged in until unplug()."""

    def __init__(self, keys: list[int] | None = None) -> None:
        """Plug it in, and wait until udev knows it."""
        self._uinput = UInput(
            {ecodes.EV_KEY: keys or LETTERS + SPECIAL}, name="a keyboard", vendor=0x17EF, product=0x6009
        )
        settle()
        self.node: str = self._uinput.device.path

    def __enter__(self) -> Self:
        """Return the keyboard, which is plugged in already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unplug it."""
        self.unplug()

    def turn(self, key: int, value: int) -> None:
        """Press (DOWN) or release (UP) a key."""
        self._uinput.write(ecodes.EV_KEY, key, value)
        self._uinput.syn()

    def press(self, *keys: int) -> None:
        """Press keys together, in this order, and release them."""
        for key in keys:
            self.turn(key, DOWN)
        for key in reversed(keys):
            self.turn(key, UP)

    def unplug(self) -> None:
        """Pull the plug; a second time does nothing."""
        if self._uinput.fd >= 0:
            self._uinput.close()
            self._uinput.fd = -1


def settle() -> None:
    """Wait until udev has handled its queue."""
    subprocess.run(["udevadm", "settle"], check=True)
