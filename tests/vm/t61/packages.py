# SPDX-License-Identifier: GPL-2.0-or-later
"""HAPPE's packages, and the state of a machine that they may change."""

import os
import pwd
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

from t61.sessions import command

DEBS = Path(__file__).parents[1] / "packages"  # packaging/package-vm-test.sh puts the packages there
OLD = "0.0.1~vm"
LOOKED_AT = ["/etc", "/usr", "/var/lib", "/var/backups", "/run/happe"]
# Files that dpkg, systemd and the linker change for any package.
NOT_LOOKED_AT = {"/var/lib/dpkg", "/var/lib/systemd", "/etc/ld.so.cache"}


def debs(*names: str, old: bool = False) -> list[str]:
    """Return the files of packages: those of the build, or the same ones with a lower version."""
    found = {path for path in DEBS.glob("*.deb") if path.name.split("_")[1].startswith(OLD) == old}
    return [str(next(path for path in found if path.name.startswith(f"{name}_"))) for name in names]


def dpkg(*words: str) -> None:
    """Install or remove packages. A failure shows dpkg's output."""
    done = subprocess.run(["dpkg", *words], check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise AssertionError(f"dpkg {' '.join(words)} ended with {done.returncode}:\n{done.stdout}")


def unit(name: str) -> tuple[str, str]:
    """Return whether a unit is active, and whether it is enabled."""
    asked = [["systemctl", word, name] for word in ("is-active", "is-enabled")]
    active, enabled = (subprocess.run(each, check=False, stdout=subprocess.PIPE, text=True).stdout for each in asked)
    return active.strip(), enabled.strip()


def files() -> dict[str, tuple[int, int, str]]:
    """Return the mode, the size and the link's target of each file that the tests watch."""
    found = {}
    for folder, folders, names in (each for top in LOOKED_AT for each in os.walk(top)):
        folders[:] = [name for name in folders if f"{folder}/{name}" not in NOT_LOOKED_AT and name != "__pycache__"]
        for path in (f"{folder}/{name}" for name in [*folders, *names]):
            status = os.lstat(path)
            leads = str(Path(path).readlink()) if stat.S_ISLNK(status.st_mode) else ""
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
            found[path] = (status.st_mode, size, leads)
    return {path: each for path, each in found.items() if path not in NOT_LOOKED_AT}


@dataclass(frozen=True)
class Machine:
    """The state that a package may change, and must restore when it is purged."""

    files: dict[str, tuple[int, int, str]]
    users: set[str]
    units: list[str]  # and whether they are enabled
    running: list[str]  # of HAPPE


def machine() -> Machine:
    """Return the present state of the machine."""
    return Machine(
        files(),
        {user.pw_name for user in pwd.getpwall()},
        command("systemctl", "list-unit-files", "--no-legend", "--no-pager").splitlines(),
        command("systemctl", "list-units", "--no-legend", "--no-pager", "--plain", "happe*").splitlines(),
    )
