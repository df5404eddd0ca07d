# SPDX-License-Identifier: GPL-2.0-or-later
"""The overlay on any desktop: above full-screen windows, readable on each of them, and open to clicks through it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from desktop import MARGIN, SIZE, Desktop, wayland, x11
from overlay import Overlay, clicks_go_through, happed, is_in_the_corner, is_readable
from private_bus import PrivateBus

Begin = Callable[[], AbstractContextManager[Desktop]]


pytestmark = pytest.mark.slow

DESKTOPS = pytest.mark.parametrize("begin", [x11, wayland], ids=["x11", "wayland"])
WITH_COMPOSITORS = {
    f"{manager}, {'picom' if composited else 'no compositor'}": partial(x11, manager, composited=composited)
    for manager in ("openbox", "xfwm4")
    for composited in (False, True)
}
ALL = {**WITH_COMPOSITORS, "wayland": wayland}


@pytest.mark.parametrize("begin", ALL.values(), ids=ALL)
def test_it_is_seen_above_full_screen_windows_and_clicks_go_through(bus: PrivateBus, begin: Begin) -> None:
    with happed(bus), begin() as desktop:
        window = desktop.window("noise")
        before = desktop.seen()
        seen, box = Overlay(desktop, bus).start().appears(before)
        is_in_the_corner(box, SIZE)
        is_readable(seen, box)
        clicks_go_through(desktop, window, box)


@DESKTOPS
@pytest.mark.parametrize("corner", ["bottom-right", "top-left", "top-right"])
def test_it_is_in_the_corner_that_is_asked_for(bus: PrivateBus, begin: Begin, corner: str) -> None:
    with happed(bus), begin() as desktop:
        before = desktop.seen()
        _, (left, top, right, bottom) = Overlay(desktop, bus).start("--corner", corner).appears(before)
        assert (top == MARGIN) if "top" in corner else (bottom == SIZE[1] - MARGIN)
        assert (left == MARGIN) if "left" in corner else (right == SIZE[0] - MARGIN)


@DESKTOPS
def test_it_vanishes_with_happed_and_comes_back_with_it(bus: PrivateBus, begin: Begin) -> None:
    with begin() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        for _ in range(2):
            with happed(bus):
                overlay.appears(before)
            overlay.vanishes(before)
