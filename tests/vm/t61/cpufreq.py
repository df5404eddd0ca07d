# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's cpufreq."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

CPUS = Path("/sys/devices/system/cpu")
CPUFREQ = CPUS / "cpufreq"
LADDER_KHZ = [800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000]


class Policy:
    """A policy's files. The T61 has one policy."""

    def __init__(self, number: int = 0) -> None:
        """Name the policy's folder."""
        self.folder = CPUFREQ / f"policy{number}"

    def read(self, name: str) -> str:
        """Read a file. Lists get single spaces."""
        return " ".join((self.folder / name).read_text().split())

    def write(self, name: str, value: object) -> None:
        """Write a file. The kernel may refuse it."""
        (self.folder / name).write_text(f"{value}\n")

    def khz(self, name: str) -> int:
        """A frequency: "scaling_cur_freq", "scaling_max_freq", "bios_limit", ..."""
        return int(self.read(name))

    @property
    def governor(self) -> str:
        """The governor in force."""
        return self.read("scaling_governor")

    @governor.setter
    def governor(self, name: str) -> None:
        self.write("scaling_governor", name)

    def state(self) -> dict[str, str]:
        """Return the state that a governing program must restore: governor, limits, target, ondemand's tunables."""
        names = ["scaling_governor", "scaling_min_freq", "scaling_max_freq", "scaling_setspeed"]
        return {name: self.read(name) for name in names} | tunables()

    def reset_stats(self) -> None:
        """Begin time_in_state and total_trans again."""
        self.write("stats/reset", 1)

    def time_in_state_s(self) -> dict[int, float]:
        """Return the seconds at each kHz since the reset. The kernel counts hundredths."""
        words = self.read("stats/time_in_state").split()
        return {int(khz): int(ticks) / 100 for khz, ticks in zip(words[::2], words[1::2], strict=True)}


def tunables() -> dict[str, str]:
    """Return the values of ondemand's tunables. There are none while it governs nothing."""
    return {f"ondemand/{file.name}": file.read_text().strip() for file in sorted((CPUFREQ / "ondemand").glob("*"))}


def set_tunable(name: str, value: int) -> None:
    """Set one of ondemand's tunables."""
    (CPUFREQ / "ondemand" / name).write_text(f"{value}\n")


def set_online(cpu: int, *, online: bool) -> None:
    """Switch a processor off or on. CPU 0 stays on."""
    (CPUS / f"cpu{cpu}/online").write_text("1" if online else "0")


@contextmanager
def without_userspace(policies: list[Policy]) -> Iterator[None]:
    """Hide `userspace` in the kernel's lists, so that happed caps as on intel_pstate. All else is real."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        governors = Path(folder) / "governors"
        governors.write_text("performance powersave \n")
        for policy in policies:
            policy.governor = "performance"
            listed = policy.folder / "scaling_available_governors"
            subprocess.run(["mount", "--bind", governors, listed], check=True)
            stack.callback(subprocess.check_call, ["umount", listed])
        yield
