# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures processes' CPU time, wake-ups and memory."""

from __future__ import annotations

import os
import statistics
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from t61.waiting import spend, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from t61.cpufreq import Policy

TRACING = Path("/sys/kernel/tracing")
FREQUENCY_EVENT = TRACING / "events/power/cpu_frequency/enable"
BASELINE = Path(__file__).parents[1] / "baseline"
SETTLE_S = 30


@dataclass(frozen=True)
class Spent:
    """The CPU time and wake-ups of processes, all their threads together."""

    cpu_ns: int
    wake_ups: int

    def __sub__(self, before: Spent) -> Spent:
        """Return the use since `before`."""
        return Spent(self.cpu_ns - before.cpu_ns, self.wake_ups - before.wake_ups)


def processes_of(unit: str) -> list[int]:
    """Return a service's processes."""
    return [int(pid) for pid in Path(f"/sys/fs/cgroup/system.slice/{unit}/cgroup.procs").read_text().split()]


def spent(pids: list[int]) -> Spent:
    """Return what these processes have used since their start. A wake-up is a sleep that ended."""
    threads = [thread for pid in pids for thread in Path(f"/proc/{pid}/task").iterdir()]
    return Spent(
        sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads),
        sum(field((thread / "status").read_text(), "voluntary_ctxt_switches") for thread in threads),
    )


@contextmanager
def running(*words: str | Path, **environment: str) -> Iterator[int]:
    """Run a program meanwhile. Yields its process id."""
    with subprocess.Popen(words, env={**os.environ, **environment}) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def setspeed_files(policies: list[Policy]) -> list[Path]:
    """Return the files that happed reads each period when it sets the speed, besides the two of beside_bare_reads()."""
    return [
        policy.folder / name
        for policy in policies
        for name in ("scaling_setspeed", "scaling_min_freq", "scaling_max_freq")
    ]


def cap_files(policies: list[Policy]) -> list[Path]:
    """Return those for when it sets a limit. While no CPU is busy it asks one policy for its speed."""
    limits = [policy.folder / name for policy in policies for name in ("scaling_max_freq", "scaling_min_freq")]
    return [*limits, policies[0].folder / "scaling_cur_freq"]


def beside_bare_reads(pid: int, files: list[Path], samples: int) -> tuple[Spent, Spent]:
    """Return what happed uses, and what a loop uses that reads the same files once a second.

    The CPU time is the median over seconds, so that moments on a busy host do not count. The wake-ups are the sum.
    Both programs also read /proc/stat and the driver's name, range and table.
    """
    outline = ("scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies")
    paths: list[str | Path] = ["/proc/stat", *(files[0].parent / name for name in outline), *files]
    with beside(pid, BASELINE / "bare-sampler", *paths) as bare:
        spend(SETTLE_S + 0.25)  # this program wakes between the two others
        mine, least = [spent([pid])], [spent([bare])]
        for _ in range(samples):
            spend(1)
            mine.append(spent([pid]))
            least.append(spent([bare]))
    return of_a_second(mine), of_a_second(least)


@contextmanager
def beside(pid: int, *words: str | Path, **environment: str) -> Iterator[int]:
    """Run a program that wakes once a second beside happed, on the same CPU, half a second after happed. Yields its id.

    Else chance decides what each finds in the caches: it may always run just after the other one, which has brought in
    the kernel's code and data, or have a CPU to itself.
    """
    os.sched_setaffinity(pid, {max(os.sched_getaffinity(pid))})
    last = spent([pid]).wake_ups
    wait_until(lambda: spent([pid]).wake_ups != last, "happed takes a sample", every_s=0.001)
    spend(0.5)
    with running(*words, **environment) as program:
        os.sched_setaffinity(program, os.sched_getaffinity(pid))
        yield program


def of_a_second(counts: list[Spent]) -> Spent:
    """Return the median CPU time between counts, and all wake-ups."""
    cpu_ns = statistics.median(after.cpu_ns - before.cpu_ns for before, after in pairwise(counts))
    return Spent(round(cpu_ns), counts[-1].wake_ups - counts[0].wake_ups)


def sample_table(mine: Spent, least: Spent) -> list[str]:
    """Make the table of what happed and the loop used for a sample."""
    rows = [
        f"{name:32} {used.cpu_ns / 1e3:13.1f} {used.wake_ups:11}"
        for name, used in [("happed, somebody there", mine), ("bare-sampler", least)]
    ]
    ratio = mine.cpu_ns / least.cpu_ns
    return [f"{'':32} {'us of CPU each':>13} {'wake-ups':>11}", *rows, f"ratio {ratio:.2f}"]


def memory_kib(pids: list[int]) -> tuple[int, int]:
    """Return the RSS and the PSS."""
    maps = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    return sum(field(text, "Rss") for text in maps), sum(field(text, "Pss") for text in maps)


def peak_kib(pids: list[int]) -> int:
    """Return the peak resident memory."""
    return sum(field(Path(f"/proc/{pid}/status").read_text(), "VmHWM") for pid in pids)


def field(text: str, name: str) -> int:
    """Read a number in one of /proc's tables."""
    return int(text.split(f"\n{name}:")[1].split(maxsplit=1)[0])


def traceable() -> None:
    """Prepare the kernel's tracing, with the times of CLOCK_MONOTONIC."""
    if not FREQUENCY_EVENT.exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACING], check=True)
    (TRACING / "trace_clock").write_text("mono")
