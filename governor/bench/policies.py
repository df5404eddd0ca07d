# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures happed's cost of a period with 1, 8 and 256 policies, beside a loop that only reads the same files.

usage: policies.py [--periods N]        `cmake --build build/dev --target happed happe-baseline` makes the programs

The machines are files. Each policy says that it has CPUs 0 and 1, so that /proc/stat can be the kernel's: the kernel
makes it for each reader, which costs as much as several other files. With 8 policies in CAP it is a file, because the
load of this computer would decide how many speeds happed reads. With 256 it is a file, because its many lines are a
part of the cost. Prints the median CPU time of a period, and how many files happed writes while nothing changes. Both
programs run with umockdev's library, without which happed would read this computer's files. Judges nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/system"), str(ROOT / "tests/vm")]

from happed_limits import always_wants, writes_of
from happed_t61 import CAPPED, T61
from happed_world import Happed, World, running_world
from patience import spend, until
from t61.cost import beside, of_a_second, spent

POLICIES = [1, 8, 256]
BACK_ENDS = {"setspeed": {}, "cap": CAPPED}
SET = {"setspeed": "scaling_setspeed", "cap": "scaling_max_freq"}
# The files that happed reads once a period, and the most policies for which it reads each (CpufreqControl). Four
# policies with two CPUs each that are 30 % busy at 1.2 of 2.3 GHz do the whole work of one.
READ = {
    "setspeed": {"scaling_setspeed": 256, "scaling_min_freq": 64, "scaling_max_freq": 64},
    "cap": {"scaling_max_freq": 256, "scaling_min_freq": 64, "scaling_cur_freq": 4},
}
WANTED = 2_200_000
KERNELS = Path("/proc/stat")
KERNELS_UP_TO = {"setspeed": 8, "cap": 1}  # policies
SETTLE = 5
MOMENT_S = 0.25


class Stat:
    """The kernel's /proc/stat, or one of CPUs that are 30 % busy."""

    def __init__(self, folder: Path, cpus: int, *, kernels: bool) -> None:
        """Make it."""
        self.path = KERNELS if kernels and len(os.sched_getaffinity(0)) > 1 else folder / "stat"
        self.cpus, self.moments = cpus, 0
        self.go_on()

    def go_on(self) -> None:
        """Let a moment pass."""
        if self.path == KERNELS:
            return
        self.moments += 1
        line = f" {self.moments * 30:012} 0 0 {self.moments * 70:012} 0 0 0 0 0 0\n"
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o644)  # as long each time: no reader sees a part
        os.pwrite(file, "".join(f"cpu{cpu}{line}" for cpu in range(self.cpus)).encode(), 0)
        os.close(file)

    def spend(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds / MOMENT_S)):
            spend(MOMENT_S)
            self.go_on()


def measure(world: World, folder: Path, policies: int, back_end: str, periods: int) -> str:
    """A row of the table."""
    happed = Happed(ROOT / "build/bin/happed", world, folder)
    happed.configure("")
    machine = T61(happed.cpus, policies, **BACK_ENDS[back_end])
    stat = Stat(folder, policies, kernels=policies <= KERNELS_UP_TO[back_end])
    me = happed.start(f"--stat={stat.path}").serves()
    always_wants(me, WANTED)

    def governed() -> bool:
        stat.go_on()
        return machine.of_all(SET[back_end]) == {str(WANTED)}

    until(governed, "all policies are governed")
    read = [policy / name for name, most in READ[back_end].items() for policy in machine.policies[:most]]
    outline = ("scaling_driver", "cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_available_frequencies")
    files = [stat.path, *(machine.policy / name for name in outline), *read]
    sampler = ROOT / "build/dev/baseline/bare-sampler"
    with beside(happed.pid, sampler, *files, **happed.environment) as bare:
        spend(MOMENT_S / 2)  # this program never wakes together with one of them
        stat.spend(SETTLE)
        written = writes_of(machine)
        mine, least = [spent([happed.pid])], [spent([bare])]
        for _ in range(periods):
            stat.spend(1)
            mine.append(spent([happed.pid]))
            least.append(spent([bare]))
    changed = sum(written[name] != at for name, at in writes_of(machine).items())
    happed.close()
    ours, bares = of_a_second(mine).cpu_ns, of_a_second(least).cpu_ns
    return f"{policies:8}  {back_end:8} {ours / 1e6:9.3f} {bares / 1e6:12.3f} {ours / bares:6.2f} {changed:7}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="What a period costs happed on machines of many policies.")
    parser.add_argument("--periods", type=int, default=20, help="of a second (%(default)s)")
    periods = parser.parse_args().periods
    print("CPU ms of each period\npolicies  back-end    happed  a bare loop  ratio  writes")
    with running_world() as world:
        for policies in POLICIES:
            for back_end in BACK_ENDS:
                with tempfile.TemporaryDirectory() as name:
                    world.as_before()
                    Path(name).chmod(0o755)
                    print(measure(world, Path(name), policies, back_end, periods), flush=True)


if __name__ == "__main__":
    main()
