# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts the lock of all Python packages into the parts that HAPPE's packages have.

usage: python_parts.py LOCK FOLDER

Writes FOLDER/common.txt, server.txt and power.txt: what the study server and the power logger both need, and what one
of them alone needs, each a list of pinned versions with the lock's hashes. What needs what is read from the packages
that are installed beside this program, so it must be run by an environment made from that lock.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TREE = Path(__file__).resolve().parents[1]
# The programs with what their packages have of their extras: docs/install.md.
PROGRAMS = {
    "server": ("study-server/pyproject.toml", ("analysis",)),
    "power": ("power-logger/pyproject.toml", ("show", "tdms")),
}


def pins(lock: Path) -> dict[str, str]:
    """The lock's entries by name, each as pip reads it."""
    entries = re.split(r"^(?=[a-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = {entry.partition("==")[0]: re.sub(r"^ +#.*\n", "", entry, flags=re.MULTILINE) for entry in entries}
    return {canonicalize_name(name): entry for name, entry in found.items() if "--hash" in entry}


def declared(project: Path, extras: tuple[str, ...]) -> list[Requirement]:
    """What a pyproject.toml asks for, with some of its extras."""
    stated = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = stated["dependencies"] + [each for extra in extras for each in stated["optional-dependencies"][extra]]
    return [Requirement(each) for each in wanted]


def closure(wanted: list[Requirement]) -> set[str]:
    """The names of what is asked for, and of what that needs here."""
    found: set[tuple[str, str]] = set()
    while wanted:
        requirement = wanted.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in found:
                continue
            found.add((name, extra))
            needs = [Requirement(each) for each in distribution(name).requires or ()]
            wanted += [each for each in needs if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _extra in found}


def main() -> None:
    """Write the lists."""
    lock, folder = Path(sys.argv[1]), Path(sys.argv[2])
    pinned = pins(lock)
    needed = {part: closure(declared(TREE / file, extras)) for part, (file, extras) in PROGRAMS.items()}
    common = set.intersection(*needed.values())
    parts = {"common": common} | {part: names - common for part, names in needed.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for part, names in parts.items():
        if missing := sorted(names - pinned.keys()):
            sys.exit(f"{lock}: does not pin {', '.join(missing)}, which {part} needs; `make locks` pins it")
        (folder / f"{part}.txt").write_text("".join(pinned[name] for name in sorted(names)), encoding="utf-8")


if __name__ == "__main__":
    main()
