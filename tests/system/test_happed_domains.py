# SPDX-License-Identifier: GPL-2.0-or-later
"""happed on a laptop with a policy for each CPU: a thread that moves, and a driver that runs below the cap."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any, Self

from happed_t61 import T61
from patience import until

if TYPE_CHECKING:
    from types import TracebackType

    from happed_world import Happed, World
    from program import HappeSim

CPUS = 8
LOWEST, HIGHEST, SLOW = 400_000, 4_700_000, 1_200_000  # kHz
TICKS = 20  # each CPU's ticks in a step of the laptop's time
STEP_S = 0.005
STEPS_ON_A_CPU = 20  # before the thread moves


class Laptop(threading.Thread):
    """A laptop with intel_pstate in active mode at a steady speed. A busy thread moves from CPU to CPU."""

    def __init__(self, happed: Happed) -> None:
        """Make the kernel's files."""
        super().__init__(daemon=True)
        self.files = T61(
            happed.cpus,
            CPUS,
            scaling_driver="intel_pstate",
            scaling_available_governors="performance powersave ",
            cpuinfo_min_freq=str(LOWEST),
            cpuinfo_max_freq=str(HIGHEST),
            scaling_min_freq=str(LOWEST),
            scaling_max_freq=str(HIGHEST),
            scaling_cur_freq=str(SLOW),
            scaling_setspeed="<unsupported>",
        )
        for cpu, policy in enumerate(self.files.policies):
            (policy / "scaling_available_frequencies").unlink()
            for name in ("affected_cpus", "related_cpus"):
                (policy / name).write_text(f"{cpu}\n")
        self.stat = happed.folder / "stat"
        self.descriptor = os.open(self.stat, os.O_WRONLY | os.O_CREAT, 0o644)  # once: a client connects as another user
        self.ticks = [[0, 0] for _ in range(CPUS)]  # busy and idle
        self.ended = threading.Event()
        self.write(0)

    def write(self, cpu: int) -> None:
        """Let time pass with the thread on this CPU."""
        for number, ticks in enumerate(self.ticks):
            ticks[number != cpu] += TICKS
        lines = [f"cpu{number} {busy:012} 0 0 {idle:012}\n" for number, (busy, idle) in enumerate(self.ticks)]
        os.pwrite(self.descriptor, "".join(lines).encode(), 0)  # always the same length: no reader sees a part

    def run(self) -> None:
        """Let time pass, and the scheduler move the thread."""
        step = 0
        while not self.ended.wait(STEP_S):
            step += 1
            self.write(step // STEPS_ON_A_CPU % CPUS)

    def __enter__(self) -> Self:
        """Begin."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End."""
        self.ended.set()
        self.join()
        os.close(self.descriptor)


def test_a_run_records_the_domain_and_the_speed_below_the_cap(
    stopped: Happed, world: World, happe_sim: HappeSim
) -> None:
    stopped.configure("")
    with Laptop(stopped) as laptop:
        world.allow("run-study")
        stopped.start(f"--stat={laptop.stat}")
        owner = stopped.serves()
        assert owner.get("Domains") == [list(range(CPUS))]
        what: dict[str, Any] = {"condition": "T-HAPPE", "subject": "p1", "application": "torcs"}
        run = owner("StartRun", "a{sv}", {name: ("s", value) for name, value in what.items()} | {"blind": ("b", False)})
        until(lambda: [khz for _, khz, *_ in owner.get("Sample")] == [LOWEST] * CPUS, "a sample below the caps")
        [descriptor] = owner.peer.reply(owner.send("StopRun", "s", run)).descriptors
        with os.fdopen(descriptor, "rb") as file:
            trace = file.read()

    header, *lines = map(json.loads, trace.splitlines())
    assert header["domains"] == [list(range(CPUS))]
    assert {policy["ran_khz"] for policy in lines[-1]["policies"]} == {SLOW}
    assert len(happe_sim.replay(trace).stdout.splitlines()) == len(lines)
