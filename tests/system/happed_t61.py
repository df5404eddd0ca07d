# SPDX-License-Identifier: GPL-2.0-or-later
"""A T61 and machines of today, made of files in a folder. umockdev shows it as /sys to happed, which governs it.

The files are plain. They accept values that a kernel would refuse, and keep the rest of a longer old value. The
emulated T61 (tests/vm) tests real cpufreq.
"""

import json
import os
from pathlib import Path

from happed_world import Client, Happed
from patience import until

FOUND = {
    "affected_cpus": "0 1",
    "related_cpus": "0 1",
    "scaling_driver": "acpi-cpufreq",
    "scaling_available_governors": "ondemand userspace powersave ",
    "scaling_available_frequencies": "2300000 2200000 1600000 1200000 800000 ",
    "cpuinfo_min_freq": "800000",
    "cpuinfo_max_freq": "2300000",
    "scaling_governor": "powersave",  # as long as "userspace"
    "scaling_min_freq": "800000",
    "scaling_max_freq": "2300000",
    "scaling_cur_freq": "1200000",
    "scaling_setspeed": "1200000",
}

# With these two governors happed assumes that `userspace` is missing and uses caps, so that it never writes a short
# governor's name over a longer one. No real kernel also has ondemand.
CAPPED = {"scaling_governor": "ondemand", "scaling_available_governors": "performance powersave "}

MOST_READS_A_TURN = 8  # of happed, for each policy


def shown(folder: Path, name: str) -> str:
    """Read a file's first line as the kernel shows it: the upper limit within the range."""
    line = (folder / name).read_text().partition("\n")[0]
    return str(min(int(line), int(shown(folder, "cpuinfo_max_freq")))) if name == "scaling_max_freq" else line


class Machine:
    """cpufreq's files. Reading and writing by name uses the first policy's file."""

    def __init__(self, cpus: Path, policies: dict[int, dict[str, str]]) -> None:
        """Make each policy's files: a map of file names to first lines."""
        self.cpus = cpus
        self.policies = [cpus / f"cpufreq/policy{number}" for number in policies]
        self.policy = self.policies[0]
        links: dict[int, int] = {}
        for folder, (number, found) in zip(self.policies, policies.items(), strict=True):
            folder.mkdir()
            for name, value in found.items():
                (folder / name).write_text(value + "\n")
            links |= {cpu: number for cpu in map(int, found["related_cpus"].split()) if cpu not in policies}
            links[number] = number
        for cpu, number in links.items():
            (cpus / f"cpu{cpu}").mkdir(exist_ok=True)
            (cpus / f"cpu{cpu}/cpufreq").symlink_to(f"../cpufreq/policy{number}")

    def __getitem__(self, name: str) -> str:
        """Read the first line."""
        return shown(self.policy, name)

    def __setitem__(self, name: str, value: str) -> None:
        """Write, as another program. A reader sees the old line or the new one, and no empty file."""
        file = os.open(self.policy / name, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(file, f"{value}\n".encode(), 0)
        os.ftruncate(file, len(value) + 1)
        os.close(file)

    def of_all(self, name: str) -> set[str]:
        """Return the content of this file in each policy."""
        return {shown(policy, name) for policy in self.policies}

    def found(self) -> dict[str, str]:
        """Return the present content of all files."""
        return {
            f"{folder.name}/{file.name}": shown(folder, file.name)
            for folder in self.policies
            for file in folder.iterdir()
        }


class T61(Machine):
    """A ThinkPad T61."""

    def __init__(self, cpus: Path, policies: int = 1, /, **found: str) -> None:
        """Make its files, with some of them changed as given.

        With several policies, each claims both CPUs, so that happed governs all of them on any machine.
        """
        super().__init__(cpus, {number: {**FOUND, **found} for number in range(policies)})

    def changed(self) -> dict[str, str]:
        """Return the files whose content differs from the original."""
        return {name: self[name] for name, value in FOUND.items() if self[name].strip() != value.strip()}

    def has_ondemand(self, **tunables: str) -> None:
        """Add the governor ondemand, with these tunables."""
        folder = self.policy.parent / "ondemand"
        folder.mkdir()
        for name, value in tunables.items():
            (folder / name).write_text(value + "\n")

    def tunable(self, name: str) -> str:
        """Read one of ondemand's tunables."""
        return (self.policy.parent / "ondemand" / name).read_text().partition("\n")[0]


def policy(driver: str, highest: int, **more: str) -> dict[str, str]:
    """The files of a policy without a list of frequencies, whose driver has preferences. Frequencies are in kHz."""
    return {
        "scaling_driver": driver,
        "scaling_available_governors": "performance powersave",
        "cpuinfo_min_freq": "400000",
        "cpuinfo_max_freq": str(highest),
        "scaling_governor": "powersave",
        "scaling_min_freq": "400000",
        "scaling_max_freq": str(highest),
        "scaling_cur_freq": "400000",
        "scaling_setspeed": "<unsupported>",
        "energy_performance_preference": "balance_performance",
        "energy_performance_available_preferences": "default performance balance_performance balance_power power",
        **more,
    }


# A policy's files for each CPU. The frequencies are those of real models.
MACHINES = {
    "intel-pstate-8": [policy("intel_pstate", 4_700_000, base_frequency="2800000")] * 8,
    "intel-hybrid-12": [
        *[policy("intel_pstate", 4_700_000, base_frequency="1800000")] * 4,
        *[policy("intel_pstate", 3_500_000, base_frequency="1300000")] * 8,
    ],
    "amd-pstate-epp-16": [policy("amd-pstate-epp", 4_785_000)] * 16,
}


def machine_of_today(name: str, cpus: Path, **changes: str) -> Machine:
    """Make one of MACHINES, with some of each policy's files changed as given.

    Each policy claims the two CPUs that every machine has on which tests run.
    """
    (cpus / "cpufreq/boost").write_text("1\n")
    here = {"affected_cpus": "0 1", "related_cpus": "0 1"}
    return Machine(cpus, {cpu: files | here | changes for cpu, files in enumerate(MACHINES[name])})


def turns(happed: Happed, count: int, policies: int = 1) -> None:
    """Wait until happed has taken at least this number of turns."""

    def reads() -> int:
        counts = Path(f"/proc/{happed.pid}/io").read_text().split()
        return int(counts[counts.index("syscr:") + 1])

    before = reads()
    until(lambda: reads() >= before + count * policies * MOST_READS_A_TURN, "happed turns")


def always_wants(me: Client, khz: int, top: int = 2_300_000, application: str = "desktop") -> None:
    """Teach this frequency for every level. `top` is the top of the fastest ladder."""
    profile = {"user": "me", "app": application, "khz": [khz] * 10}
    document = {"format": "happe-profile/1", "f_max_khz": top, "profiles": [profile]}
    me("ImportProfiles", "ss", "", json.dumps(document))


def writes_of(machine: Machine) -> dict[str, int]:
    """Return the time of the last write to each file."""
    return {f"{file.parent.name}/{file.name}": file.stat().st_mtime_ns for file in machine.cpus.rglob("scaling_*")}


def shows(machine: Machine, file: str, khz: int) -> None:
    """Wait until this file has this frequency."""
    until(lambda: machine[file] == str(khz), f"{file} is {khz}, it is {machine[file]}")
