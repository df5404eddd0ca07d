# SPDX-License-Identifier: GPL-2.0-or-later
"""The overlay on Wayland: above full-screen windows, readable on any of them, and open to clicks through it."""

import socket
from pathlib import Path

import pytest
from PIL import Image

from desktop import GREY, MARGIN, SIZE, Wayland, changed, nested, wayland
from happed_stand_in import NAME, OBJECT
from overlay import Overlay, happed, is_readable, press
from patience import PATIENCE_S, until
from private_bus import PrivateBus

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("scale", "whole"), [("2", 2), ("1.5", 1.5)])
def test_it_grows_with_the_outputs_scale(bus: PrivateBus, scale: str, whole: float) -> None:
    with happed(bus), wayland() as desktop:
        overlay = Overlay(desktop, bus).start()
        _, small = overlay.appears(desktop.empty())
        desktop.sway(f"output HEADLESS-1 scale {scale}")
        until(lambda: changed(desktop.empty(), desktop.seen()) not in (None, small), "it has changed its size")
        seen, large = overlay.appears(desktop.empty())
        assert large[0] == pytest.approx(whole * MARGIN, abs=1)
        assert large[3] == pytest.approx(SIZE[1] - whole * MARGIN, abs=1)
        assert large[2] - large[0] == pytest.approx(whole * (small[2] - small[0]), abs=3)
        is_readable(seen, large)


def test_it_moves_to_the_output_of_its_name_when_that_is_plugged_in(bus: PrivateBus) -> None:
    with happed(bus), wayland() as desktop:
        overlay = Overlay(desktop, bus).start("--screen", "HEADLESS-2")
        overlay.appears(desktop.empty())
        desktop.sway("create_output")
        until(lambda: is_on(desktop, "HEADLESS-2"), "it is on the second output")
        assert not is_on(desktop, "HEADLESS-1")


@pytest.mark.parametrize("options", [("--screen", "WL-2"), ()])
def test_it_moves_to_another_output_when_its_own_is_unplugged(bus: PrivateBus, options: tuple[str, ...]) -> None:
    with happed(bus), wayland() as outer, nested(outer) as desktop:
        desktop.sway("focus output WL-2")
        Overlay(desktop, bus).start(*options)
        until(lambda: is_on(desktop, "WL-2"), "it is on the second output")
        outer.sway('[title="WL-2"] kill')
        until(lambda: is_on(desktop, "WL-1"), "it is on the first output")


def test_it_moves_to_the_output_with_the_focus(bus: PrivateBus) -> None:
    with happed(bus) as daemon, wayland() as desktop:
        Overlay(desktop, bus).start()
        until(lambda: is_on(desktop, "HEADLESS-1"), "it is on the only output")
        desktop.sway("create_output")
        desktop.sway(f"output HEADLESS-2 resolution {SIZE[0]}x{SIZE[1]} scale 2")
        desktop.sway("focus output HEADLESS-2")
        daemon.tell("set", OBJECT, NAME, "Application", "another")
        until(lambda: is_on(desktop, "HEADLESS-2", 2) and not is_on(desktop, "HEADLESS-1"), "it has followed")
        desktop.sway("focus output HEADLESS-1")
        press(daemon, "power", 1_200_000)
        until(lambda: is_on(desktop, "HEADLESS-1") and not is_on(desktop, "HEADLESS-2", 2), "it is back")


def is_on(desktop: Wayland, output: str, scale: int = 1) -> bool:
    """Return whether this output, which has nothing else, shows the overlay."""
    if not any(known["name"] == output and known["active"] for known in desktop.outputs()):
        return False
    seen = desktop.seen(output)
    box = changed(Image.new("RGB", seen.size, GREY), seen)
    # The overlay's size is whole logical pixels, so a row of its picture may be empty.
    return box is not None and box[0] == scale * MARGIN and 0 <= seen.height - scale * MARGIN - box[3] < scale


def test_it_comes_back_with_the_compositor(bus: PrivateBus) -> None:
    with happed(bus), wayland() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        _, box = overlay.appears(before)
        desktop.restart_sway()
        seen, again = overlay.appears(before)
        assert again == box
        is_readable(seen, box)


def test_it_waits_for_a_compositor_that_does_not_answer_yet(bus: PrivateBus) -> None:
    """On a busy machine a starting compositor has its socket before it answers."""
    with happed(bus), wayland() as desktop, socket.socket(socket.AF_UNIX) as busy:
        before = desktop.seen()
        late = Path(desktop.environment["XDG_RUNTIME_DIR"]) / "late"
        busy.bind(str(late))
        busy.listen()
        busy.settimeout(PATIENCE_S)
        overlay = Overlay(desktop, bus).start(WAYLAND_DISPLAY="late")
        connection, _ = busy.accept()
        with connection:
            until(lambda: not connection.recv(4096), "the overlay has given up the first connection")
        late.unlink()
        late.symlink_to(desktop.environment["WAYLAND_DISPLAY"])
        overlay.appears(before)
