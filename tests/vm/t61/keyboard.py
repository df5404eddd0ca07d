# SPDX-License-Identifier: GPL-2.0-or-later
"""Keyboards, plugged in and out (uinput)."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Self

from evdev import UInput, ecodes

if TYPE_CHECKING:
    from types import TracebackType

LETTERS = [ecodes.KEY_A, ecodes.KEY_B, ecodes.KEY_C, ecodes.KEY_LEFTSHIFT, ecodes.KEY_LEFTCTRL]
SPECIAL = [ecodes.KEY_PROG1, ecodes.KEY_PROG2]
DOWN, UP = 1, 0


class Keyboard:
    """A USB keyboard, there until it is unplugged."""

    def __init__(self, keys: list[int] | None = None, name: str = "a keyboard") -> None:
        """Plug it in; udev knows it when this returns."""
        self._uinput = UInput({ecodes.EV_KEY: keys or LETTERS + SPECIAL}, name=name, vendor=0x17EF, product=0x6009)
        settle()
        self.node: str = self._uinput.device.path

    def __enter__(self) -> Self:
        """Plugged in already."""
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
    """Wait for udev to have handled what it knows of."""
    subprocess.run(["udevadm", "settle"], check=True)
