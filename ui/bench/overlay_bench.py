# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures happe-indicator under Xvfb and a headless sway: its memory, and the time from a key to pixels.

A key is a call of Feedback to the real happed; pixels are there when a picture of the screen differs where the ladder
is. Prints each figure beside its limit and judges nothing.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/system"), str(ROOT / "ui/tests")]

from agent import Agent, window
from cost import resident_kib
from desktop import changed, wayland, x11
from happed_world import Happed, running_world
from patience import spend, until

if TYPE_CHECKING:
    from PIL import Image

    from desktop import Desktop

PRESSES = 100
APART_S = 0.55  # presses of one key less than a second apart are one
GIVE_UP_S = 1.0


def say(what: str, figure: str, limit: str) -> None:
    """A line of the report."""
    print(f"{what:40} {figure:>12}  of {limit}", flush=True)


def key_to_pixels(agent: Agent, empty: Image.Image) -> list[float]:
    """Press keys in turn. Return the milliseconds until each is seen, without those that changed nothing."""
    box = until(lambda: changed(empty, agent.desktop.seen()), "the overlay is seen")
    ladder = (box[0], (box[1] + box[3]) // 2, box[0] + 160, box[3])
    found = []
    for number in range(PRESSES):
        before = agent.desktop.seen().crop(ladder)
        begin = time.monotonic()
        agent.me("Feedback", "s", ("performance", "power")[number % 2])
        while (now := time.monotonic()) < begin + GIVE_UP_S:
            if changed(before, agent.desktop.seen().crop(ladder)):
                found.append((now - begin) * 1000)
                break
        spend(APART_S)
    return found


def measure(name: str, desktop: Desktop, happed: Happed, limit: str) -> None:
    """Measure the overlay, and then the agent alone with a window in front."""
    empty = desktop.seen()
    agent = Agent(desktop, happed).start("--where", "auto", "--battery", "simulated")
    seen = sorted(key_to_pixels(agent, empty))
    say(f"key to pixels, {name}, median", f"{statistics.median(seen):.1f} ms", "100 ms")
    say(f"key to pixels, {name}, p99", f"{seen[int(len(seen) * 0.99)]:.1f} ms", f"{len(seen)} that moved the ladder")
    say(f"resident memory, {name}", f"{resident_kib(agent.process.pid) / 1024:.1f} MiB", limit)
    desktop.stop(agent.process)
    agent.start()
    window(desktop, "game")
    agent.serves("game")
    say(f"resident memory, {name}, agent alone", f"{resident_kib(agent.process.pid) / 1024:.1f} MiB", limit)


def main() -> None:
    """Measure on X11 and on Wayland."""
    with running_world() as world, tempfile.TemporaryDirectory() as folder:
        world.as_before()
        happed = Happed(Path(os.environ.get("HAPPED", ROOT / "build/bin/happed")).absolute(), world, Path(folder))
        happed.configure('mode = "observe"\n')
        happed.start()
        try:
            with x11() as desktop:
                measure("X11", desktop, happed, "40 MB")
            with wayland() as desktop:
                measure("Wayland", desktop, happed, "30 MB")
        finally:
            happed.close()


if __name__ == "__main__":
    main()
