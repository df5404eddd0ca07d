# SPDX-License-Identifier: GPL-2.0-or-later
"""Cuts the lock of all Python packages into lists for each installation.

usage: python_parts.py LOCK FOLDER

Writes lists of pinned versions, with the lock's hashes, into FOLDER. `make demo` and `make test` install demo.txt and
test.txt. The packages of the study server and the power logger carry server.txt and power.txt on this release of
Debian; common.txt has the packages that both need. server.depends and so on name Debian's packages with the rest
(packaging/python-from-debian.toml). static.txt has the scripts of the server's pages.
The lock's own comments ("via") say which package needs which.
"""

import platform
import re
import sys
import tomllib
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
SHARED = ("profiles/python/pyproject.toml", ())
SERVER = ("study-server/pyproject.toml", ("analysis",))
POWER = ("power-logger/pyproject.toml", ("show",))
OWN = {"happe-shared"}  # projects of this tree, which no lock pins
# A part's projects, each with the extras that the part has.
PARTS = {
    "demo": [("pyproject.toml", ("demo",)), SHARED, SERVER, ("power-logger/pyproject.toml", ())],
    "test": [("pyproject.toml", ("demo", "test")), SHARED, SERVER, ("power-logger/pyproject.toml", ("all",))],
    "server": [SHARED, SERVER],
    "power": [SHARED, POWER],
}
STATIC = {"django-htmx", "metaflow-card-uplot"}  # the study server's package has the scripts in them


@dataclass(frozen=True)
class Pin:
    """An entry of the lock: the text for pip, and the packages that need it."""

    entry: str
    needed_by: frozenset[str]


def canonical(name: str) -> str:
    """Return a package's name in the form that indices compare (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: Path) -> dict[str, Pin]:
    """Return the lock's entries by name."""
    entries = re.split(r"^(?=[a-z0-9])", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        canonical(entry.partition("==")[0]): Pin(
            re.sub(r"^ +#.*\n", "", entry, flags=re.MULTILINE),
            frozenset(canonical(name) for name in re.findall(r"(?:via|,) ([\w.-]+)(?=,|$)", entry, flags=re.MULTILINE)),
        )
        for entry in entries
        if "--hash" in entry
    }


def declared(project: Path, extras: tuple[str, ...]) -> set[str]:
    """Return the names that a pyproject.toml asks for, with some of its extras."""
    stated = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = stated["dependencies"] + [each for extra in extras for each in stated["optional-dependencies"][extra]]
    return {canonical(re.split(r"[^\w.-]", each, maxsplit=1)[0]) for each in wanted} - OWN


def closure(wanted: set[str], pinned: dict[str, Pin], provided: AbstractSet[str]) -> set[str]:
    """Return the wanted names and the names that those need. A provided package needs nothing of the lock."""
    found = set(wanted)
    while more := {name for name, pin in pinned.items() if pin.needed_by & (found - provided)} - found:
        found |= more
    return found


def from_debian() -> dict[str, dict[str, str]]:
    """Return the libraries in Debian, by release: names, and the packages to depend on."""
    return tomllib.loads((TREE / "packaging/python-from-debian.toml").read_text(encoding="utf-8"))


def packaged(pinned: dict[str, Pin], provided: AbstractSet[str]) -> dict[str, set[str]]:
    """Return the names that the packages need, in three parts without overlap."""
    server, power = (
        closure(set().union(*(declared(TREE / file, extras) for file, extras in PARTS[part])), pinned, provided)
        for part in ("server", "power")
    )
    return {"common": server & power, "server": server - power, "power": power - server}


def write_lists(pinned: dict[str, Pin], debian: dict[str, str], folder: Path, lock: str) -> None:
    """Write the lists into the folder."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(part: str, names: set[str]) -> None:
        if missing := sorted(names - pinned.keys()):
            sys.exit(f"{lock}: does not pin {', '.join(missing)}, which {part} needs; `make locks` pins it")
        (folder / f"{part}.txt").write_text("".join(pinned[name].entry for name in sorted(names)), encoding="utf-8")

    for part in ("demo", "test"):
        asked = set().union(*(declared(TREE / file, extras) for file, extras in PARTS[part]))
        write(part, closure(asked, pinned, set()))
    for part, names in packaged(pinned, debian.keys()).items():
        write(part, names - debian.keys())
        depends = sorted({debian[name] for name in names & debian.keys()})
        (folder / f"{part}.depends").write_text("".join(f"{each}\n" for each in depends), encoding="utf-8")
    write("static", STATIC)


def main() -> None:
    """Write the lists."""
    lock, folder = sys.argv[1:]
    tables = from_debian()
    release = platform.freedesktop_os_release().get("VERSION_ID", "")  # testing and sid have none
    debian = tables.get(release, tables[max(tables, key=int)])  # a newer release is like the newest one in the table
    write_lists(pins(Path(lock)), debian, Path(folder), lock)


if __name__ == "__main__":
    main()
