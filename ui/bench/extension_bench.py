# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the cost of HAPPE's extension: GNOME Shell's CPU time with the overlay and the extension, and without both.

usage: extension_bench.py [--rounds N] [--seconds SECONDS]

Runs real GNOME Shell without a screen, and happe-indicator before the real happed. Each round measures without HAPPE
and with it, first while nothing changes, then while each second another window comes to the front and a key is
pressed. Prints medians over the rounds.
"""

from __future__ import annotations

import argparse
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
from happed_world import Happed, running_world
from patience import spend, until
from shells import Gnome, shell

if TYPE_CHECKING:
    from happed_world import Client

WINDOWS = ["left", "right"]
CPU_CLOCK = 2  # of all threads of a process, in the lowest bits of a clock's number
QUIET_S = 0.005  # of CPU in a second: what came before has ended


def cpu_s(pid: int) -> float:
    """Return how many seconds of CPU a process has used."""
    return time.clock_gettime(~pid << 3 | CPU_CLOCK)


def cpu_in(pid: int, seconds: float) -> float:
    """Return how much of that it uses in a time."""
    before = cpu_s(pid)
    spend(seconds)
    return cpu_s(pid) - before


def idle(desktop: Gnome, seconds: int) -> float:
    """Return the shell's CPU, in ms a minute, while nothing changes."""
    return cpu_in(desktop.compositor.pid, seconds) * 60_000 / seconds


def busy(desktop: Gnome, me: Client, seconds: int) -> float:
    """Return the shell's CPU, in ms a minute, while each second a window comes to the front and a key is pressed."""
    desktop.evaluate(
        "const {GLib} = imports.gi;"
        "const actors = global.get_window_actors().map(actor => actor.meta_window);"
        f"const windows = {WINDOWS}.map(name => actors.find(window => window.get_wm_class() === name));"
        "let count = 0;"
        "GLib.timeout_add(GLib.PRIORITY_DEFAULT, 1000, () => {"
        " windows[count++ % windows.length].activate(global.get_current_time());"
        f" return count < {seconds};"
        "}); 0"
    )
    before = cpu_s(desktop.compositor.pid)
    for number in range(seconds):
        me("Feedback", "s", ("performance", "power")[number % 2])
        spend(1)
    return (cpu_s(desktop.compositor.pid) - before) * 60_000 / seconds


def measured(desktop: Gnome, me: Client, seconds: int) -> tuple[float, float]:
    """Return both, after all that came before has ended."""
    until(lambda: cpu_in(desktop.compositor.pid, 1) < QUIET_S, "the shell is quiet")
    quiet = idle(desktop, seconds)
    return quiet, busy(desktop, me, seconds)


def say(what: str, without: list[float], beside: list[float]) -> None:
    """A line of the report."""
    ratio = statistics.median(more / less for less, more in zip(without, beside, strict=True))
    figures = f"{statistics.median(without):.0f} ms without, {statistics.median(beside):.0f} ms with"
    print(f"the shell's CPU a minute, {what:36} {figures}, ratio {ratio:.2f}", flush=True)


def measure(desktop: Gnome, happed: Happed, arguments: argparse.Namespace) -> None:
    """Take turns."""
    agent = Agent(desktop, happed)
    for name in WINDOWS:
        window(desktop, name)
    without, beside = [], []
    for _ in range(arguments.rounds):
        without.append(measured(desktop, agent.me, arguments.seconds))
        desktop.switch_extension(on=True)
        agent.start("--where", "auto", "--battery", "simulated")
        until(lambda: agent.me.get("Application") in WINDOWS, "a window is served")
        beside.append(measured(desktop, agent.me, arguments.seconds))
        desktop.stop(agent.process)
        desktop.switch_extension(on=False)
    for number, what in enumerate(("nothing changes", "a window and a key each second")):
        say(what, [round_[number] for round_ in without], [round_[number] for round_ in beside])


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60, help="of each measurement")
    arguments = parser.parse_args()
    with running_world() as world, tempfile.TemporaryDirectory() as folder:
        world.as_before()
        happed = Happed(Path(os.environ.get("HAPPED", ROOT / "build/bin/happed")).absolute(), world, Path(folder))
        happed.configure('mode = "observe"\n')
        happed.start()
        try:
            with shell(Gnome, world.address) as desktop:
                measure(desktop, happed, arguments)
        finally:
            happed.close()


if __name__ == "__main__":
    main()
