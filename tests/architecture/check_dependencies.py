# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that dependencies point one way (docs/architecture.md), and that no folder has too many source files.

usage: check_dependencies.py [ROOT]

Reads C++'s #include and Python's imports. A unit test keeps to its room's rules, but the core's tests may include
everything of the standard library. Prints FILE:LINE: fault; exits with 1 if there is a fault.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

BELOW_SYSTEM = {"governor/core", "governor/documents", "governor/cli"}
BELOW_BUS = BELOW_SYSTEM | {"governor/system", "governor/store", "governor/keys", "governor/cpufreq"}

UI_BELOW_INDICATOR = {"ui/bus", "ui/overlay", "ui/surfaces", "ui"}

# Room: the rooms it may use besides itself. A file belongs to the deepest room that holds it.
ROOMS: dict[str, set[str]] = {
    "profiles": set(),
    "governor/core": set(),
    "governor/cli": set(),
    "governor/documents": {"governor/core", "governor/cli"},
    "governor/system": BELOW_SYSTEM,
    "governor/store": BELOW_SYSTEM | {"governor/system"},
    "governor/keys": BELOW_SYSTEM | {"governor/system"},
    "governor/cpufreq": BELOW_SYSTEM | {"governor/system"},
    "governor/bus": BELOW_SYSTEM | {"governor/system", "governor/store"},
    "governor/happed": BELOW_BUS | {"governor/bus"},
    "governor/explain": {"governor/bus", "governor/core", "governor/store"},
    "governor/happectl": BELOW_BUS | {"governor/bus", "governor/explain"},
    "governor/sim": BELOW_SYSTEM | {"governor/system", "governor/store"},
    "ui": set(),
    "ui/overlay": {"governor/core", "governor/system"},
    "ui/bus": {"ui/overlay"},
    "ui/surfaces": {"ui/bus"},
    "ui/agent": {"ui/bus", "governor/system"},
    "ui/agent/sources": {"ui/agent", "ui/bus", "ui/surfaces"},
    "ui/indicator": UI_BELOW_INDICATOR | {"ui/agent", "ui/agent/sources", "governor/cli"},
    "ui/owner": {"ui", "ui/bus", "ui/overlay", "governor/core", "governor/explain", "governor/store"},
    "ui/study/sitting": set(),
    "ui/study/laptop": {"ui/surfaces"},
    "ui/study/server": {"ui/study/sitting", "governor/system"},
    "ui/study": {f"ui/study/{part}" for part in ("laptop", "server", "sitting")} | {"ui", "governor/cli"},
    "ui/tests": set(),
    "study-server": {"profiles"},
    "power-logger": {"profiles"},
}

# Python packages of the components. An import from another component is a dependency on its room.
PACKAGES = {
    "happe_contract": "profiles",
    "happe_cli": "profiles",
    "happe_study": "study-server",
    "happe_power": "power-logger",
}

# The core is pure: what it may include of the standard library says so. No clock, file, stream, thread or logger.
CORE_SYSTEM = {
    "algorithm", "array", "chrono", "compare", "cstddef", "cstdint", "functional", "limits", "map", "optional", "span",
    "string", "string_view", "tl/expected.hpp", "utility", "vector",
}  # fmt: skip
CORE_FORBIDDEN = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock|getenv|printf|sleep_for)\b")

MOST_FILES = 30  # in a folder
SOURCES = {".cpp", ".css", ".h", ".html", ".j2", ".js", ".py"}
NOT_OURS = {"__pycache__", "node_modules", "tests", "vendor"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path: str) -> str | None:
    """The room a path (relative to the root) lies in; None outside of all."""
    return next((room for room in sorted(ROOMS, key=len, reverse=True) if path.startswith(room + "/")), None)


def wrong_include(room: str, kind: str, name: str, *, is_test: bool) -> str | None:
    """Return the fault of an include in a room; None if there is none."""
    if kind == "<":
        pure = room != "governor/core" or is_test or name in CORE_SYSTEM
        return None if pure else f"governor/core is pure and may not include <{name}>"
    target = room_of(name)
    if name.endswith(".moc") or (is_test and name == "tests/disk.h"):
        return None  # Qt makes the one from the file itself; the tests of all rooms share the other
    if target is None:
        return f'"{name}": included files are named from the root'
    allowed = target == room or target in ROOMS[room]
    return None if allowed else f"{room} may not depend on {target}"


def check_cpp(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Wrong lines of a C++ file as (line, message)."""
    room = room_of(path)
    if room is None:
        return
    is_test = path.endswith(("_test.cpp", "_fixture.h"))
    for number, line in enumerate(text.splitlines(), start=1):
        if include := INCLUDE.match(line):
            wrong = wrong_include(room, include[1], include[2], is_test=is_test)
            if wrong:
                yield number, wrong
        elif room == "governor/core" and not is_test and (word := CORE_FORBIDDEN.search(line)):
            yield number, f"governor/core is pure and may not use {word[1]}"


def imported(node: ast.AST) -> list[str]:
    """Top-level packages that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name.split(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        return [node.module.split(".")[0]]
    return []


def check_python(path: str, text: str) -> Iterator[tuple[int, str]]:
    """Wrong imports of a Python file as (line, message)."""
    room = room_of(path)
    if room is None:
        return
    for node in ast.walk(ast.parse(text, path)):
        for package in imported(node):
            target = PACKAGES.get(package, room)
            if target != room and target not in ROOMS[room]:
                yield getattr(node, "lineno", 0), f"{room} may not depend on {target}"


def check_folders(root: Path, top: str) -> Iterator[str]:
    """Folders with too many source files. Folders of tests may have more."""
    files = [file for file in (root / top).rglob("*") if file.suffix in SOURCES]
    own = [file for file in files if not file.name.endswith("_test.cpp") and not NOT_OURS & set(file.parts)]
    for folder, count in sorted(Counter(file.parent.relative_to(root).as_posix() for file in own).items()):
        if count > MOST_FILES:
            yield f"{folder}: has {count} source files, may have {MOST_FILES}"


def check(root: Path) -> list[str]:
    """All faults below `root`, as FILE:LINE: message."""
    found = []
    for top in sorted({room.split("/")[0] for room in ROOMS}):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root).as_posix()
            checker = {".h": check_cpp, ".cpp": check_cpp, ".py": check_python}.get(file.suffix)
            if checker:
                found += [f"{path}:{line}: {message}" for line, message in checker(path, file.read_text())]
        found += check_folders(root, top)
    return found


def main() -> int:
    """Print the faults; return 1 if there are any."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    wrong = check(root)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
