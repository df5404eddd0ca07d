# SPDX-License-Identifier: GPL-2.0-or-later
"""docs/how-to/first-change.md: its patches apply to a copy of the tree, and its commands do what it says.

Its power source is own-instrument.md's, which tests/system/test_power_plugin.py installs and records with.
"""

from __future__ import annotations

import filecmp
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs/how-to/first-change.md").read_text(encoding="utf-8")
PATCH = re.compile(r"^```diff\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    (.+)$", re.MULTILINE)
COPY = ROOT / "build/first-change"  # kept: the next build compiles only what the patches change


@pytest.fixture
def tree() -> Path:
    """The tree as it is, in a folder of its own."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    names = {name for name in listed.splitlines() if (ROOT / name).is_file()}
    for path in COPY.rglob("*"):
        name = str(path.relative_to(COPY))
        if path.is_file() and name not in names and not name.startswith("build/"):
            path.unlink()
    for name in names:
        if not (COPY / name).exists() or not filecmp.cmp(ROOT / name, COPY / name, shallow=False):
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, COPY / name)
    (COPY / "build").mkdir(exist_ok=True)
    if not (COPY / "build/venv").is_symlink():
        (COPY / "build/venv").symlink_to(ROOT / "build/venv")
    return COPY


def follow(tree: Path, heading: str) -> list[subprocess.CompletedProcess[str]]:
    """Do what a section says: apply its patches, then run its commands. The patches must fit without fuzz."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    patches = PATCH.findall(section)
    assert patches
    for patch in patches:
        command = ["patch", "-p1", "--fuzz=0", "--no-backup-if-mismatch"]
        ran = subprocess.run(command, cwd=tree, input=patch, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout
    commands = COMMAND.findall(PATCH.sub("", section))
    return [
        subprocess.run(["/bin/sh", "-c", command], cwd=tree, check=False, capture_output=True, text=True)
        for command in commands
    ]


def test_a_new_page(tree: Path) -> None:
    [tested] = follow(tree, "A new page")
    assert (tested.returncode, "1 passed" in tested.stdout) == (0, True), tested.stdout


def test_a_new_setting(tree: Path) -> None:
    *steps, refused = follow(tree, "A new setting")
    for step in steps:
        assert step.returncode == 0, step.stdout + step.stderr
    assert "happe.toml:1: log_lessons: must be true or false, is 3" in refused.stderr
