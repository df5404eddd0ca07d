# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what a sample costs happed beside a loop that only reads the same files, and how soon a press acts.

The machines are files, which umockdev shows to both programs as /sys. A press is a call of Feedback; its baseline is a
call that only reads a property.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from happed_t61 import CAPPED, T61, always_wants
from happed_world import Client, Happed, World, running_world
from patience import spend, until
from t61.cost import beside, of_a_second, spent

ROOT = Path(__file__).resolve().parents[2]
SAMPLER = ROOT / "build/dev/baseline/bare-sampler"
# What happed finds, the file that it writes, and what else it reads of each policy in a period.
LIMITS = ("scaling_min_freq", "scaling_max_freq")
BACK_ENDS = {"setspeed": ({}, "scaling_setspeed", LIMITS), "cap": (CAPPED, "scaling_max_freq", LIMITS[:1])}
OUTLINE = ("scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies")
MACHINES = [(1, "setspeed"), (1, "cap"), (8, "setspeed")]  # each policy says that it has two CPUs
WANTED = 2_200_000
PERIODS, SETTLE_S = 20, 5
PRESSES, APART_S = 20, 1.1  # presses of one key less than a second apart are one


def measure(world: World, folder: Path, policies: int, back_end: str) -> None:
    """Print the figures of a machine."""
    happed = Happed(ROOT / "build/bin/happed", world, folder)
    happed.configure("")
    found, file, more = BACK_ENDS[back_end]
    machine = T61(happed.cpus, policies, **found)
    me = happed.start().serves()
    always_wants(me, WANTED)
    until(lambda: machine.of_all(file) == {str(WANTED)}, "all policies are governed")
    files = [policy / name for name in (file, *more) for policy in machine.policies]
    files += [machine.policy / name for name in (*OUTLINE, *(["scaling_cur_freq"] if back_end == "cap" else []))]
    with beside(happed.pid, SAMPLER, "/proc/stat", *files, **happed.environment) as bare:
        spend(SETTLE_S + 0.25)  # this program never wakes together with one of them
        counts = [(spent([happed.pid]), spent([bare]))]
        for _ in range(PERIODS):
            spend(1)
            counts.append((spent([happed.pid]), spent([bare])))
    ours, bares = (of_a_second(list(each)).cpu_ns / 1000 for each in zip(*counts, strict=True))
    print(f"a sample, {policies} in {back_end:8}  {ours:5.0f} us, a bare loop {bares:5.0f} us: {ours / bares:.2f}")
    if back_end == "setspeed":
        press(me, machine)
    happed.close()


def press(me: Client, machine: T61) -> None:
    """Print how long a press takes until the file has a new frequency."""
    took, asked = [], []
    for number in range(PRESSES):
        spend(APART_S)
        asked.append(took_us(partial(me.get, "State")))
        before = (machine.policies[-1] / "scaling_setspeed").stat().st_mtime_ns
        took.append(took_us(partial(me, "Feedback", "s", ("performance", "power")[number % 2])))
        if (machine.policies[-1] / "scaling_setspeed").stat().st_mtime_ns == before:
            took.pop()  # it was at the end of its ladder
    press_us, read_us = statistics.median(took), statistics.median(asked)
    print(
        f"a press, {len(took)} answered with the frequency set  {press_us:.0f} us, "
        f"a call that reads {read_us:.0f} us: {press_us / read_us:.2f}"
    )


def took_us(action: Callable[[], object]) -> float:
    """Return how long an action takes."""
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1e6


def main() -> None:
    """Measure each machine."""
    with running_world() as world:
        for policies, back_end in MACHINES:
            with tempfile.TemporaryDirectory() as name:
                world.as_before()
                Path(name).chmod(0o755)
                measure(world, Path(name), policies, back_end)


if __name__ == "__main__":
    main()
