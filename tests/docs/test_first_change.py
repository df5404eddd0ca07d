# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/how-to/first-change.md: its steps fit a copy of the tree, and its commands do what it says.

For the commands, a mount namespace puts the copy in the tree's place. So they use the tree's build, and compile only
the files that the patches change.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from program import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/how-to/first-change.md").read_text(encoding="utf-8")
SOURCE_PAGE = (ROOT / "docs/how-to/own-instrument.md").read_text(encoding="utf-8")
PATCH = re.compile(r"^```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^ {4,7}(\S.+)$", re.MULTILINE)
INSTEAD_OF = re.compile(r"write `([^`]+)`\s+in place of\s+`([^`]+)`")
UNSHARE = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
# $1 the copy, $2 the tree, $3 a command of the page.
INSTEAD = 'mount --bind "$2/build/venv" "$1/build/venv" && mount --rbind "$1" "$2" && cd "$2" && exec sh -c "$3"'


def written_meanwhile(folder: str, _names: list[str]) -> list[str]:
    """Return the entries of build/dev in which emulated machines beside this test write.

    tools/vm-test.sh and tools/laboratory.sh name them.
    """
    theirs = ["installed", "laboratory", "laboratory-results", "power", "vm-results"]
    return theirs if folder == str(ROOT / "build/dev") else []


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copy the tree with its build into a folder."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    copy = tmp_path / "tree"
    for name in filter(os.path.lexists, (str(ROOT / name) for name in listed.splitlines())):
        place = copy / Path(name).relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(name, place, follow_symlinks=False)  # keeps the times, because ninja finds changed files by them
    (copy / "build/venv").mkdir(parents=True)
    if (ROOT / "build/dev").exists():
        shutil.copytree(ROOT / "build/dev", copy / "build/dev", symlinks=True, ignore=written_meanwhile)
    return copy


def section(heading: str) -> str:
    """A section of the page."""
    return PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]


def follow(tree: Path, heading: str) -> list[subprocess.CompletedProcess[str]]:
    """Do what a section says: apply its patches, then run its commands. The patches must fit without fuzz."""
    for patch in PATCH.findall(section(heading)):
        command = ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch"]
        ran = subprocess.run(command, cwd=tree, input=patch, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout
    commands = COMMAND.findall(PATCH.sub("", section(heading)))
    there = [*UNSHARE, "sh", "-c", INSTEAD, "sh", str(tree), str(ROOT)]
    return [subprocess.run([*there, command], check=False, capture_output=True, text=True) for command in commands]


def replaced(text: str, new: str, old: str) -> str:
    """Replace a text that occurs once."""
    assert text.count(old) == 1
    return text.replace(old, new)


def test_a_new_power_source(tree: Path) -> None:
    module, test = PYTHON.findall(SOURCE_PAGE)
    pairs = INSTEAD_OF.findall(section("A new power source"))
    own, imported = ([re.sub(r"\s*\n\s*", " ", each) for each in pair] for pair in pairs)
    door = tree / "power-logger/src/happe_power/sources/door.py"
    (door.parent / "hwmon.py").write_text(module, encoding="utf-8")
    door.write_text(replaced(door.read_text(encoding="utf-8"), *own), encoding="utf-8")
    moved = replaced(test, *imported)
    (tree / "power-logger/tests/test_source_hwmon.py").write_text(moved, encoding="utf-8")
    tested, listed = follow(tree, "A new power source")
    assert (tested.returncode, "1 passed" in tested.stdout) == (0, True), tested.stdout + tested.stderr
    assert (listed.returncode, "hwmon" in listed.stdout) == (0, True), listed.stdout + listed.stderr


def test_a_new_page(tree: Path) -> None:
    [tested] = follow(tree, "A new page")
    assert (tested.returncode, "1 passed" in tested.stdout) == (0, True), tested.stdout


def test_a_new_setting(tree: Path) -> None:
    *steps, refused = follow(tree, "A new setting")
    for step in steps:
        assert step.returncode == 0, step.stdout + step.stderr
    assert "happe.toml:1: log_lessons: must be true or false, is 3" in refused.stderr
