# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures what a sample costs happed beside a loop that only reads the same files, and how soon a press acts.

The machines are files, which umockdev shows to both programs as /sys. A press is a call of Feedback; its baseline is a
call that only reads a property.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from cost import resident_kib, wake_ups
from happed_t61 import CAPPED, T61, always_wants
from happed_world import Client, Happed, World, running_world
from patience import spend, until

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


def cpu_us(pid: int) -> float:
    """Return the CPU time that a process has used, all its threads together."""
    return sum(int(each.read_text().split()[0]) for each in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1000


def of_a_second(counts: list[float]) -> float:
    """Return the median between counts, so that moments on a busy host do not count."""
    return statistics.median(after - before for before, after in pairwise(counts))


@contextmanager
def beside(pid: int, *words: str | Path, **environment: str) -> Iterator[int]:
    """Run a program that wakes once a second beside happed, on the same CPU, half a second after happed. Yields its id.

    Else chance decides what each finds in the caches: it may always run just after the other one, which has brought in
    the kernel's code and data, or have a CPU to itself.
    """
    os.sched_setaffinity(pid, {max(os.sched_getaffinity(pid))})
    before = wake_ups(pid)
    until(lambda: wake_ups(pid) != before, "happed takes a sample")
    spend(0.5)
    with subprocess.Popen(words, env={**os.environ, **environment}) as program:
        os.sched_setaffinity(program.pid, os.sched_getaffinity(pid))
        yield program.pid
        program.kill()


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
        counts = [(cpu_us(happed.pid), cpu_us(bare))]
        for _ in range(PERIODS):
            spend(1)
            counts.append((cpu_us(happed.pid), cpu_us(bare)))
    ours, bares = (of_a_second(list(each)) for each in zip(*counts, strict=True))
    print(f"a sample, {policies} in {back_end:8}  {ours:5.0f} us, a bare loop {bares:5.0f} us: {ours / bares:.2f}")
    print(f"happed's memory, {policies} in {back_end:8}  {resident_kib(happed.pid) / 1024:.1f} MiB")
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
