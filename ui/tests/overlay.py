# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-indicator on a desktop, with a stand-in for happed."""

import contextlib
import queue
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from PIL import Image

from desktop import MARGIN, Desktop, changed, program
from happed_stand_in import GOVERNING, INTERFACE, NAME, OBJECT, T61_KHZ
from patience import until
from private_bus import PrivateBus, StandIn, stand_in

Box = tuple[int, int, int, int]

# A game at 1.6 GHz that keeps its CPU busy: 99 minutes of the simulated battery.
PLAYING: dict[str, Any] = {"Targets": [[0, 1_600_000]], "Sample": [[0, 1_600_000, 1_000_000, 6]]}
CLICKS = 5
BUSES = ("DBUS_SYSTEM_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS")


@contextlib.contextmanager
def happed(bus: PrivateBus, **properties: Any) -> Iterator[StandIn]:  # noqa: ANN401 - of any type
    """Run a stand-in for happed on the bus."""
    there = {"xml": INTERFACE, "properties": {**GOVERNING, **PLAYING, **properties}}
    with stand_in(bus, NAME, {OBJECT: there}) as running:
        yield running


def press(daemon: StandIn, key: str, khz: int) -> None:
    """Press a key that moves the policy's target."""
    daemon.tell("set", OBJECT, NAME, "Targets", [[0, khz]])
    daemon.tell("signal", OBJECT, NAME, "KeyCounted", "(s)", [key])


@dataclass
class Overlay:
    """A running happe-indicator."""

    desktop: Desktop
    bus: PrivateBus
    process: subprocess.Popen[str] = field(init=False)

    def start(self, *options: str, **environment: str) -> Self:
        """Start it. By default it has the simulated battery."""
        buses = dict.fromkeys(BUSES, self.bus.address)
        battery = () if "--battery" in options else ("--battery", "simulated")
        command = (program("happe-indicator"), *battery, *options)
        self.process = self.desktop.start(*command, **{**buses, **environment})
        return self

    def appears(self, before: Image.Image) -> tuple[Image.Image, Box]:
        """Wait until the overlay is visible and steady. Return the picture, and where it differs from before."""

        def there() -> tuple[Image.Image, Box] | None:
            seen = self.desktop.seen()
            box = changed(before, seen)
            return (seen, box) if box and changed(seen, self.desktop.seen()) is None else None

        found: tuple[Image.Image, Box] = until(there, "the overlay is seen")
        return found

    def vanishes(self, before: Image.Image) -> None:
        """Wait until the screen is as before."""
        until(lambda: changed(before, self.desktop.seen()) is None, "the overlay has vanished")


def is_in_the_corner(box: Box, size: tuple[int, int], margin: int = MARGIN) -> None:
    """Assert that the overlay is in the bottom-left corner, and large enough to read."""
    left, _top, _right, bottom = box
    assert (left, bottom) == (margin, size[1] - margin)
    assert 100 <= box[2] - left <= 400
    assert 40 <= bottom - box[1] <= 120


def is_readable(seen: Image.Image, box: Box) -> None:
    """Assert that the box has bright and dark pixels, as text on its plate has (overlay_painter_test.cpp)."""
    brightness = seen.crop(box).convert("L").tobytes()
    assert max(brightness) - min(brightness) > 150


def clicks_go_through(desktop: Desktop, window: Any, box: Box) -> None:  # noqa: ANN401 - desktop.Output
    """Assert that a click in its middle reaches the window below, which keeps the focus.

    A busy desktop may drop a click while it puts a window in its place.
    """
    x, y = (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
    told = ""
    for _ in range(CLICKS):
        desktop.click(x, y)
        with contextlib.suppress(queue.Empty):
            told = window.until("click", 2)
            break
    assert [float(at) for at in told.split()[1:]] == [x, y]
    assert window.so_far()[-1] != "no focus"


assert T61_KHZ[2] == PLAYING["Targets"][0][1]
