# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of today, made of files in a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happed_t61 import Machine, shown

if TYPE_CHECKING:
    from pathlib import Path


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


class FakedMachine(Machine):
    """The files of a machine's cpufreq."""

    @classmethod
    def shipped(cls, name: str, devices: Path, **changes: str) -> FakedMachine:
        """Make one of MACHINES below this /sys/devices. `changes` replaces some of each policy's files."""
        cpus = devices / "system/cpu"
        (cpus / "cpufreq").mkdir(parents=True, exist_ok=True)
        (cpus / "cpufreq/boost").write_text("1\n")
        own = [{"affected_cpus": str(cpu), "related_cpus": str(cpu)} for cpu in range(len(MACHINES[name]))]
        return cls(cpus, {cpu: own[cpu] | files | changes for cpu, files in enumerate(MACHINES[name])})

    def found(self) -> dict[str, str]:
        """Return the present content of all files."""
        return {
            f"{folder.name}/{file.name}": shown(folder, file.name)
            for folder in self.policies
            for file in folder.iterdir()
        }
