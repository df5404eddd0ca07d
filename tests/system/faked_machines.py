# SPDX-License-Identifier: GPL-2.0-or-later
"""Folders of files that look like the machines of profiles/machines, described by `happectl doctor --bundle`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from happed_t61 import Machine, shown
from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = sorted((ROOT / "profiles/machines").glob("*.json"))


def numbers(text: str) -> list[int]:
    """Read a list of numbers: 0-3,6."""
    ranges = [part.split("-") for part in text.split(",")]
    return [number for ends in ranges for number in range(int(ends[0]), int(ends[-1]) + 1)]


class ReplayedStat:
    """The kernel's file of CPU times on a described machine."""

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        """Make the file with all times 0."""
        self.path = path
        self.samples: list[list[int | None]] = document["utilisation"]["cpus_ppm"]
        self.ticks = {cpu: [0, 0] for cpu, share in enumerate(self.samples[0]) if share is not None}  # busy and idle
        path.touch()
        self.write()

    def go_on(self, sample: list[int | None]) -> None:
        """Keep the CPUs as busy as in this sample for a moment."""
        for cpu, ticks in self.ticks.items():
            busy = sample[cpu] or 0
            ticks[0] += busy
            ticks[1] += 1_000_000 - busy
        self.write()

    def write(self) -> None:
        """Write the file, always with the same length. A reader may still see only a part of the change."""
        lines = [f"cpu{cpu} {busy:012} 0 0 {idle:012}\n" for cpu, (busy, idle) in self.ticks.items()]
        with self.path.open("r+") as file:
            file.write("".join(lines))


class FakedMachine(Machine):
    """The files of a machine's cpufreq, CPU topology and driver switches."""

    def __init__(self, devices: Path, document: dict[str, Any], **changes: str) -> None:
        """Make the files below this /sys/devices. `changes` replaces some of each policy's files."""
        cpus = devices / "system/cpu"
        (cpus / "cpufreq").mkdir(parents=True, exist_ok=True)
        policies = {}
        for group in document["policies"]:
            for number in numbers(group["policies"]):
                files = {"affected_cpus": str(number), "related_cpus": str(number)} | group["files"]
                files["scaling_cur_freq"] = files["cpuinfo_min_freq"]
                policies[number] = files | changes
        super().__init__(cpus, dict(sorted(policies.items())))
        lines = {f"system/cpu/{file}": line for file, line in document["settings"].items()}
        lines |= {f"{kind}/cpus": line for kind, line in document["kinds"].items()}
        for what, of_each in document["topology"].items():
            lines |= {
                f"system/cpu/cpu{cpu}/topology/{what}": line for cpu, line in enumerate(of_each) if line is not None
            }
        for file, line in lines.items():
            (devices / file).parent.mkdir(parents=True, exist_ok=True)
            (devices / file).write_text(line + "\n")

    @classmethod
    def shipped(cls, name: str, devices: Path, **changes: str) -> FakedMachine:
        """One of profiles/machines."""
        return cls(devices, json.loads((ROOT / f"profiles/machines/{name}.json").read_text()), **changes)

    def found(self) -> dict[str, str]:
        """Return the present content of all files."""
        return {
            f"{folder.name}/{file.name}": shown(folder, file.name)
            for folder in self.policies
            for file in folder.iterdir()
        }
