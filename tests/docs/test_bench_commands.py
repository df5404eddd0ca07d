# SPDX-License-Identifier: GPL-2.0-or-later
"""The scripts of `make bench` find their modules, started as `make bench` and as the documents start them."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = re.compile(
    r"(?:cd (?P<folder>[\w-]+) && )?(?:PYTHONPATH=(?P<path>\S+) )?"
    r"(?P<python>[\w./]+/bin/python) (?P<script>\S*bench/\w+\.py)"
)


def found(*files: Path) -> list[dict[str, str]]:
    """Each command once."""
    texts = [file.read_text(encoding="utf-8") for file in files]
    each = {match[0]: match.groupdict(default="") for text in texts for match in COMMAND.finditer(text)}
    return list(each.values())


BENCH = ROOT / "tools/bench.sh"
COMMANDS = found(BENCH, *sorted((ROOT / "docs").rglob("*.md")))


def test_all_scripts_of_make_bench_are_seen() -> None:
    named = set(re.findall(r"\S*bench/\w+\.py", BENCH.read_text(encoding="utf-8")))
    assert named
    assert {command["script"] for command in COMMANDS} >= named


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command['folder']}-{command['script']}")
def test_it_starts(command: dict[str, str]) -> None:
    folder = ROOT / command["folder"]
    folder.mkdir(exist_ok=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if command["path"]:
        environment["PYTHONPATH"] = command["path"]
    told = [command["python"], command["script"], "--help"]
    ran = subprocess.run(told, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("usage: ")
