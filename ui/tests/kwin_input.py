# SPDX-License-Identifier: GPL-2.0-or-later
"""Pointer and keyboard in KWin, by org_kde_kwin_fake_input. Debian has its description only for developers of KDE.

usage: python3 kwin_input.py in KWin's session, with KWIN_WAYLAND_NO_PERMISSION_CHECKS=1. It executes each line of its
input, and prints "done" when KWin has handled it: "click X Y", in units of KWin's layout, or "press CODE...", keys by
the kernel's numbers, all at once.
"""

from __future__ import annotations

import os
import socket
import struct
import sys

DISPLAY, REGISTRY, FIRST_SYNC, INPUT = 1, 2, 3, 4  # objects; their numbers have no gap
SYNC, GET_REGISTRY = 0, 1  # requests of the display
AUTHENTICATE, BUTTON, MOTION_ABSOLUTE, KEY = 0, 2, 9, 10  # requests of the input
LEFT = 0x110
PROTOCOL, VERSION = "org_kde_kwin_fake_input", 4
FIXED = 256  # 1 as the protocol writes numbers with a fraction


def text(said: str) -> bytes:
    """Return a string as Wayland sends it: its length with the final NUL, and padding to whole words."""
    data = said.encode() + b"\0"
    return struct.pack("=I", len(data)) + data + bytes(-len(data) % 4)


class Input:
    """An input device of KWin. It lasts until the program ends."""

    def __init__(self, path: str) -> None:
        """Create it on the compositor of this socket."""
        self._next = FIRST_SYNC
        self._wayland = socket.socket(socket.AF_UNIX)
        self._wayland.connect(path)
        self._send(DISPLAY, GET_REGISTRY, struct.pack("=I", REGISTRY))
        number = self._answered()[PROTOCOL]
        self._send(REGISTRY, 0, struct.pack("=I", number) + text(PROTOCOL) + struct.pack("=II", VERSION, INPUT))
        self._next = INPUT + 1
        self._send(INPUT, AUTHENTICATE, text("HAPPE") + text("its tests click"))
        self._answered()

    def click(self, x: int, y: int) -> None:
        """Click there."""
        self._send(INPUT, MOTION_ABSOLUTE, struct.pack("=ii", x * FIXED, y * FIXED))
        for pressed in (1, 0):
            self._send(INPUT, BUTTON, struct.pack("=II", LEFT, pressed))
        self._answered()

    def press(self, *codes: int) -> None:
        """Press keys and release them."""
        for pressed, order in ((1, codes), (0, reversed(codes))):
            for code in order:
                self._send(INPUT, KEY, struct.pack("=II", code, pressed))
        self._answered()

    def _send(self, target: int, request: int, arguments: bytes) -> None:
        self._wayland.sendall(struct.pack("=II", target, (len(arguments) + 8) << 16 | request) + arguments)

    def _receive(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            more = self._wayland.recv(length - len(data))
            if not more:
                sys.exit("KWin has ended the connection")
            data += more
        return data

    def _answered(self) -> dict[str, int]:
        """Wait until KWin has handled all requests. Return the new globals' numbers, by interface."""
        done = self._next
        self._next += 1
        self._send(DISPLAY, SYNC, struct.pack("=I", done))
        announced: dict[str, int] = {}
        while True:
            source, size = struct.unpack("=II", self._receive(8))
            event, arguments = size & 0xFFFF, self._receive((size >> 16) - 8)
            if (source, event) == (DISPLAY, 0):
                sys.exit(f"KWin refuses: {arguments!r}")
            if source == done:
                return announced
            if (source, event) == (REGISTRY, 0):
                number, length = struct.unpack("=II", arguments[:8])
                announced[arguments[8 : 7 + length].decode()] = number


def main() -> None:
    """Execute the lines of the input."""
    mine = Input(f"{os.environ['XDG_RUNTIME_DIR']}/{os.environ['WAYLAND_DISPLAY']}")
    for line in sys.stdin:
        word, *numbers = line.split()
        if word == "click":
            x, y = map(int, numbers)
            mine.click(x, y)
        else:
            mine.press(*map(int, numbers))
        print("done", flush=True)


main()
