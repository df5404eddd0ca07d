# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures happe-indicator under Xvfb and a headless sway: its memory, and the time from a key to pixels.

The memory stands beside that of a Qt program that shows one window. A key is a call of Feedback to the real happed.
Pixels are there when a picture of the screen differs where the ladder is; the baseline is the time of one picture.
"""

import statistics
import tempfile
import time
from pathlib import Path

from agent import Agent, window
from cost import resident_kib
from desktop import Desktop, changed, wayland, x11
from happed_world import Happed, running_world
from patience import spend, until
from program import ROOT

PRESSES = 40
APART_S = 0.55  # presses of one key less than a second apart are one
GIVE_UP_S = 1.0


def key_to_pixels(agent: Agent, box: tuple[int, int, int, int]) -> tuple[float, float]:
    """Press keys in turn. Return the median milliseconds until one is seen, and those of a picture."""
    ladder = (box[0], (box[1] + box[3]) // 2, box[0] + 160, box[3])
    found, pictures = [], []
    for number in range(PRESSES):
        begin = time.monotonic()
        before = agent.desktop.seen().crop(ladder)
        pictures.append((time.monotonic() - begin) * 1000)
        begin = time.monotonic()
        agent.me("Feedback", "s", ("performance", "power")[number % 2])
        while (now := time.monotonic()) < begin + GIVE_UP_S:
            if changed(before, agent.desktop.seen().crop(ladder)):
                found.append((now - begin) * 1000)
                break
        spend(APART_S)
    return statistics.median(found), statistics.median(pictures)


def measure(name: str, desktop: Desktop, happed: Happed) -> None:
    """Measure the overlay, and then the agent alone with a window in front."""
    empty = desktop.seen()
    agent = Agent(desktop, happed).start("--where", "auto", "--battery", "simulated")
    box = until(lambda: changed(empty, desktop.seen()), "the overlay is seen")
    seen_ms, picture_ms = key_to_pixels(agent, box)
    print(f"{name}: key to pixels {seen_ms:.1f} ms, a picture {picture_ms:.1f} ms: {seen_ms / picture_ms:.2f}")
    overlay = resident_kib(agent.process.pid)
    desktop.stop(agent.process)
    agent.start()
    bare = resident_kib(window(desktop, "game"))
    agent.serves("game")
    alone = resident_kib(agent.process.pid)
    for what, kib in (("with the overlay", overlay), ("agent alone", alone)):
        print(f"{name}: {what} {kib / 1024:.1f} MiB, a bare window {bare / 1024:.1f} MiB: {kib / bare:.2f}")


def main() -> None:
    """Measure on X11 and on Wayland."""
    with running_world() as world, tempfile.TemporaryDirectory() as folder:
        world.as_before()
        Path(folder).chmod(0o755)
        happed = Happed(ROOT / "build/bin/happed", world, Path(folder))
        happed.configure('mode = "observe"\n')
        happed.start()
        try:
            for name, place in (("X11", x11), ("Wayland", wayland)):
                with place() as desktop:
                    measure(name, desktop, happed)
        finally:
            happed.close()


if __name__ == "__main__":
    main()
