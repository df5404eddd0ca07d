# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts the lock of all Python packages into the parts that are installed together.

usage: python_parts.py LOCK FOLDER

Writes lists of pinned versions, with the lock's hashes, into FOLDER: demo.txt and test.txt are what `make demo` and
`make test` install; server.txt and power.txt are what the packages of the study server and the power logger carry, and
common.txt what both of those need. The lock's own comments ("via") say which package needs which.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
SHARED = ("profiles/python/pyproject.toml", ())
SERVER = ("study-server/pyproject.toml", ("analysis",))
POWER = ("power-logger/pyproject.toml", ("show", "tdms"))
OWN = {"happe-shared"}  # projects of this tree, which no lock pins
# Projects with those of their extras that a part has.
PARTS = {
    "demo": [("pyproject.toml", ("demo",)), SHARED, SERVER, ("power-logger/pyproject.toml", ())],
    "test": [("pyproject.toml", ("demo", "test")), SHARED, SERVER, ("power-logger/pyproject.toml", ("all",))],
    "server": [SHARED, SERVER],
    "power": [SHARED, POWER],
}


@dataclass(frozen=True)
class Pin:
    """An entry of the lock: what pip reads of it, and the packages that need it."""

    entry: str
    needed_by: frozenset[str]


def canonical(name: str) -> str:
    """A package's name as indices compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: Path) -> dict[str, Pin]:
    """The lock's entries by name."""
    entries = re.split(r"^(?=[a-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        canonical(entry.partition("==")[0]): Pin(
            re.sub(r"^ +#.*\n", "", entry, flags=re.MULTILINE),
            frozenset(canonical(name) for name in re.findall(r"^ +# +(?:via )?([\w.-]+)$", entry, flags=re.MULTILINE)),
        )
        for entry in entries
        if "--hash" in entry
    }


def declared(project: Path, extras: tuple[str, ...]) -> set[str]:
    """The names that a pyproject.toml asks for, with some of its extras."""
    stated = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = stated["dependencies"] + [each for extra in extras for each in stated["optional-dependencies"][extra]]
    return {canonical(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in wanted} - OWN


def closure(wanted: set[str], pinned: dict[str, Pin]) -> set[str]:
    """The names of what is asked for, and of what that needs."""
    found = set(wanted)
    while more := {name for name, pin in pinned.items() if pin.needed_by & found} - found:
        found |= more
    return found


def main() -> None:
    """Write the lists."""
    lock, folder = Path(sys.argv[1]), Path(sys.argv[2])
    pinned = pins(lock)
    needed = {
        part: closure(set().union(*(declared(TREE / file, extras) for file, extras in projects)), pinned)
        for part, projects in PARTS.items()
    }
    needed["common"] = needed["server"] & needed["power"]
    for part in ("server", "power"):
        needed[part] -= needed["common"]
    folder.mkdir(parents=True, exist_ok=True)
    for part, names in needed.items():
        if missing := sorted(names - pinned.keys()):
            sys.exit(f"{lock}: does not pin {', '.join(missing)}, which {part} needs; `make locks` pins it")
        (folder / f"{part}.txt").write_text("".join(pinned[name].entry for name in sorted(names)), encoding="utf-8")


if __name__ == "__main__":
    main()
