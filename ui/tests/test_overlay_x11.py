# SPDX-License-Identifier: GPL-2.0-or-later
"""The overlay on X11: above full-screen windows, readable on any of them, and open to clicks through it."""

import os
import signal
from pathlib import Path

import pytest
from PIL import Image

from agent import window
from desktop import MARGIN, SIZE, X11, changed, keep, x11
from happed_stand_in import HIDDEN, NAME, OBJECT
from laptop_stand_ins import BATTERY, UPOWER, battery
from overlay import Box, Overlay, clicks_go_through, happed, is_readable, press
from patience import spend, until
from private_bus import PrivateBus

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("manager", ["openbox", "xfwm4"])
def test_it_stays_above_a_window_that_comes_later(bus: PrivateBus, manager: str) -> None:
    with happed(bus), x11(manager) as desktop:
        overlay = Overlay(desktop, bus).start()
        overlay.appears(desktop.seen())
        window = desktop.window("black")
        desktop.ask("xdotool", "search", "--name", "^game$", "windowraise")
        is_readable(*overlay.appears(Image.new("RGB", SIZE)))
        assert window.so_far()[-1] != "no focus"


def test_it_takes_the_shape_of_its_plate_when_the_compositor_dies_and_shines_through_when_it_is_back(
    bus: PrivateBus,
) -> None:
    with happed(bus), x11() as desktop:
        window = desktop.window("white")
        before = desktop.seen()
        opaque, box = Overlay(desktop, bus).start().appears(before)
        plate = (box[2] - 12, box[1] + 2)
        compositor = desktop.composite()
        until(lambda: desktop.seen().getpixel(plate) != opaque.getpixel(plate), "white shines through")
        is_readable(desktop.seen(), box)
        os.kill(compositor, signal.SIGKILL)
        until(lambda: changed(opaque, desktop.seen()) is None, "the plate is opaque again")
        clicks_go_through(desktop, window, box)


def test_a_key_changes_what_is_seen_and_what_is_said(bus: PrivateBus) -> None:
    with happed(bus) as daemon, x11(composited=True) as desktop:
        desktop.window("noise")
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        _, narrow = overlay.appears(before)
        assert "1 hour 39 minutes of battery left. Step 3 of 5." in title(desktop)
        press(daemon, "power", 1_200_000)
        until(lambda: "Last key: 13 minutes more." in title(desktop), "the key's effect is announced")

        def wider() -> tuple[Image.Image, Box] | None:
            seen, box = overlay.appears(before)
            return (seen, box) if box[2] > narrow[2] else None

        seen, wide = until(wider, "there is room for it")  # a busy compositor shows it after the title changes
        is_readable(seen, wide)
        keep(seen.crop((0, SIZE[1] - 110, 400, SIZE[1])), "overlay")


def test_details_show_the_power_that_the_battery_measures(bus: PrivateBus) -> None:
    with happed(bus), battery(bus) as upower, x11(composited=True) as desktop:
        desktop.window("noise")
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start("--battery", "real", "--details")
        overlay.appears(before)
        until(lambda: "1.6 GHz. Battery at 56 %. Measured power: 20 W; " in title(desktop), "the title has the power")
        seen, box = overlay.appears(before)
        is_readable(seen, box)
        assert 100 <= box[3] - box[1] <= 140  # there is a graph
        pace = 30 if os.environ.get("HAPPE_PICTURES") else 0  # a graph needs some minutes of power
        for watts in (14.1, 14.6, 22.5, 21.9, 17.2, 16.8, 12.4):
            spend(pace)
            upower.tell("set", BATTERY, f"{UPOWER}.Device", "EnergyRate", watts)
        until(lambda: "Measured power: 12 W; in the last 10 minutes from " in title(desktop), "it has the new power")
        until(lambda: changed(seen, desktop.seen()), "the graph has changed")
        keep(desktop.seen().crop((0, SIZE[1] - 170, 400, SIZE[1])), "overlay-details")


def test_in_a_sealed_run_it_looks_at_what_the_kernel_shows_for_happed_tells_nobody(
    bus: PrivateBus, tmp_path: Path
) -> None:
    frequency = tmp_path / "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq"
    frequency.parent.mkdir(parents=True)
    frequency.write_text("1600000\n")
    mock = {"LD_PRELOAD": "libumockdev-preload.so.0", "UMOCKDEV_DIR": str(tmp_path)}
    with happed(bus, **HIDDEN, Run="K7QX", State="run") as daemon, x11() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start("--battery", "real", "--details", **mock)
        overlay.appears(before)
        assert "of battery left. Step 3 of 5." in title(desktop)
        frequency.write_text("1213370\n")
        daemon.tell("signal", OBJECT, NAME, "KeyCounted", "(s)", ["power"])
        until(lambda: "Step 2 of 5. Last key:" in title(desktop), "the key's effect is announced")
        daemon.tell("set", OBJECT, NAME, "Indicator", 0)
        overlay.vanishes(before)


def title(desktop: X11) -> str:
    """Return the title of the overlay's window."""
    tree = desktop.ask("xwininfo", "-root", "-tree", "-int")
    window = next(line.split()[0] for line in tree.splitlines() if "happe-indicator" in line)
    return desktop.ask("xprop", "-id", window, "_NET_WM_NAME")


def test_it_grows_with_the_desktops_dpi(bus: PrivateBus) -> None:
    with happed(bus), x11() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start()
        _, small = overlay.appears(before)
        desktop.set_resources("Xft.dpi: 192")
        until(lambda: changed(before, desktop.seen()) not in (None, small), "it has changed its size")
        _, large = overlay.appears(before)
        assert (large[0], large[3]) == (2 * MARGIN, SIZE[1] - 2 * MARGIN)
        assert large[2] - large[0] == pytest.approx(2 * (small[2] - small[0]), abs=2)


def test_it_moves_to_the_screen_of_its_name_when_that_is_plugged_in(bus: PrivateBus) -> None:
    with happed(bus), x11() as desktop:
        before = desktop.seen()
        overlay = Overlay(desktop, bus).start("--screen", "RIGHT")
        _, at_left = overlay.appears(before)
        assert at_left[0] == MARGIN
        desktop.ask("xrandr", "--setmonitor", "LEFT", "640/300x800/300+0+0", "screen")
        desktop.ask("xrandr", "--setmonitor", "RIGHT", "640/300x800/300+640+0", "none")
        until(lambda: (changed(before, desktop.seen()) or (0,))[0] == 640 + MARGIN, "it is on the right screen")
        desktop.ask("xrandr", "--delmonitor", "RIGHT")
        until(lambda: changed(before, desktop.seen()) == at_left, "it is where it was")


def test_it_moves_to_the_screen_with_the_focused_window(bus: PrivateBus) -> None:
    with happed(bus), x11() as desktop:
        desktop.ask("xrandr", "--setmonitor", "LEFT", "640/300x800/300+0+0", "screen")
        desktop.ask("xrandr", "--setmonitor", "RIGHT", "640/300x800/300+640+0", "none")
        Overlay(desktop, bus).start()
        window(desktop, "game")
        for left in (640 + 200, 200, 640 + 200):
            desktop.ask("xdotool", "getactivewindow", "windowmove", str(left), "300")
            edge = MARGIN + (640 if left >= 640 else 0)

            def is_there(edge: int = edge) -> bool:
                """Return whether the lowest visible thing is the overlay, in the corner of this screen."""
                lowest = changed(Image.new("RGB", (SIZE[0], 100)), desktop.seen().crop((0, SIZE[1] - 100, *SIZE)))
                return lowest is not None and lowest[0] == edge

            until(is_there, f"it is {edge} pixels from the left")
