# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the overlay and the session agent: memory, wake-ups, and the time from a key to pixels.

usage: overlay_bench.py [--details] [--presses N] [--idle SECONDS]

Runs happe-indicator before the real happed on a bus of its own, under Xvfb and under a headless sway. A key is a call
of happed's Feedback; pixels are there when a picture of the screen differs where the ladder is drawn. Prints each
figure beside its limit and judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/system"), str(ROOT / "ui/tests")]

from agent import window
from cost import resident_kib, wake_ups_in
from desktop import AS_USER, changed, program, wayland, x11
from happed_world import Happed, running_world
from laptop_stand_ins import MODEL
from patience import spend, until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from PIL import Image

    from desktop import Desktop
    from happed_world import Client

APART_S = 0.55  # presses of one key less than a second apart are one
GIVE_UP_S = 1.0


def say(what: str, figure: str, limit: str = "") -> None:
    """A line of the report."""
    print(f"{what:44} {figure:>28}  {limit}", flush=True)


def indicator(desktop: Desktop, address: str, *options: str) -> subprocess.Popen[str]:
    """Start happe-indicator as the user whom happed serves."""
    buses = {"DBUS_SYSTEM_BUS_ADDRESS": address, "DBUS_SESSION_BUS_ADDRESS": address}
    return desktop.start(*AS_USER, program("happe-indicator"), *options, **buses)


def latency(press: Callable[[], None], look: Callable[[], Image.Image]) -> float | None:
    """Return the milliseconds from a press until the picture changes; None if it does not."""
    before = look()
    begin = time.monotonic()
    press()
    while time.monotonic() < begin + GIVE_UP_S:
        if changed(before, look()):
            return (time.monotonic() - begin) * 1000
    return None


def key_to_pixels(name: str, me: Client, look: Callable[[], Image.Image], presses: int) -> None:
    """Press keys in turn and say how soon they are seen."""
    begin = time.monotonic()
    for _ in range(5):
        look()
    look_ms = (time.monotonic() - begin) * 200
    found = []
    for number in range(presses):
        key = ("performance", "power")[number % 2]
        found.append(latency(partial(me, "Feedback", "s", key), look))
        spend(APART_S)
    seen = sorted(milliseconds for milliseconds in found if milliseconds is not None)
    p99 = seen[min(len(seen) - 1, int(len(seen) * 0.99))]
    say(f"key to pixels, {name}, median", f"{statistics.median(seen):.1f} ms", "of 100 ms")
    say(f"key to pixels, {name}, p99", f"{p99:.1f} ms", f"{len(seen)} of {presses} presses moved the ladder")
    say(f"  of which a look at the screen, {name}", f"{look_ms:.1f} ms")


def idle(name: str, process: subprocess.Popen[str], seconds: float, limit: str) -> None:
    """Say how often it wakes up in a minute."""
    spend(35)  # Qt's threads that painted end after half a minute
    say(f"wake-ups a minute, {name}", f"{wake_ups_in(process.pid, seconds) * 60 / seconds:.1f}", limit)


def on_desktop(name: str, desktop: Desktop, happed: Happed, arguments: argparse.Namespace) -> None:
    """Measure everything on one desktop."""
    me = happed.serves()
    empty = desktop.seen()
    process = indicator(desktop, happed.world.address, "--battery", "simulated", *arguments.options)
    box = until(lambda: changed(empty, desktop.seen()), "the overlay is seen")
    ladder = (box[0], (box[1] + box[3]) // 2, box[0] + 160, box[3])
    key_to_pixels(name, me, lambda: desktop.seen().crop(ladder), arguments.presses)
    limit = 30 if name == "Wayland" else 40
    say(f"resident memory, {name}", f"{resident_kib(process.pid) / 1024:.1f} MiB", f"of {limit} MB")
    idle(f"{name}, counting down", process, arguments.idle, "")
    happed.world.activate("")  # nobody is served
    idle(f"{name}, nobody served", process, arguments.idle, "of 0")
    happed.world.as_before()
    desktop.stop(process)


def agent_alone(name: str, desktop: Desktop, happed: Happed, arguments: argparse.Namespace) -> None:
    """Measure the session agent without an overlay, with a window in front."""
    me = happed.serves()
    process = indicator(desktop, happed.world.address, "--no-overlay")
    window(desktop, "game")
    until(lambda: me.get("Application") == "game", "the game is served")
    limit = 30 if name == "Wayland" else 40
    say(f"resident memory, {name}, agent alone", f"{resident_kib(process.pid) / 1024:.1f} MiB", f"of {limit} MB")
    idle(f"{name}, agent alone", process, arguments.idle, "of 0")
    desktop.stop(process)


def with_details(folder: Path) -> tuple[str, ...]:
    """Return the options for a graph of the power, which needs a model."""
    folder.chmod(0o755)  # the user reads it
    model = folder / "model.json"
    model.write_text(json.dumps(MODEL))
    return ("--details", "--model", str(model))


def main() -> None:
    """Measure on X11 and on Wayland."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--details", action="store_true", help="with the speed and the graph of the power")
    parser.add_argument("--presses", type=int, default=100, help="of a key, on each desktop")
    parser.add_argument("--idle", type=float, default=60, help="seconds for which wake-ups are counted")
    arguments = parser.parse_args()
    with running_world() as world, tempfile.TemporaryDirectory() as folder:
        world.as_before()
        arguments.options = with_details(Path(folder)) if arguments.details else ()
        happed = Happed(Path(os.environ.get("HAPPED", ROOT / "build/bin/happed")).absolute(), world, Path(folder))
        happed.configure('mode = "observe"\n')
        happed.start()
        try:
            with x11() as desktop:
                on_desktop("X11", desktop, happed, arguments)
                agent_alone("X11", desktop, happed, arguments)
            with wayland() as desktop:
                on_desktop("Wayland", desktop, happed, arguments)
                agent_alone("Wayland", desktop, happed, arguments)
        finally:
            happed.close()


if __name__ == "__main__":
    main()
