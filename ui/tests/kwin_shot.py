# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes a picture of KWin's screen by KWin's own interface, which sends the pixels through a pipe.

usage: python3 kwin_shot.py FILE SCREEN     with Debian's python3-gi, in KWin's session. FILE gets the pixels of the
screen of this name, four bytes each (blue, green, red, alpha). It prints width, height and the bytes of a line.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from gi.repository import Gio, GLib

NAME = "org.kde.KWin.ScreenShot2"
PATIENCE_MS = 300_000


def main(file: str, screen: str) -> None:
    """Take the picture."""
    read, write = os.pipe()
    handles = Gio.UnixFDList.new()
    handles.append(write)
    os.close(write)
    pixels: list[bytes] = []
    reader = threading.Thread(target=lambda: pixels.append(os.fdopen(read, "rb").read()), daemon=True)
    reader.start()
    options = {"native-resolution": GLib.Variant("b", True)}  # noqa: FBT003 - a value
    call = GLib.Variant("(sa{sv}h)", (screen, options, 0))
    where = ("org.kde.KWin", "/org/kde/KWin/ScreenShot2", NAME, "CaptureScreen")
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    answer, _ = bus.call_with_unix_fd_list_sync(*where, call, None, 0, PATIENCE_MS, handles, None)
    del handles  # our own end of the pipe
    (about,) = answer.unpack()
    reader.join()
    Path(file).write_bytes(pixels[0])
    print(about["width"], about["height"], about["stride"])


main(*sys.argv[1:])
