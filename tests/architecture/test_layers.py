# SPDX-License-Identifier: GPL-2.0-or-later
"""import-linter finds each kind of import that the study server's layers forbid, and nothing in a clean tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "study-server/src"

# A file, the text to write into it, and the linter's message.
PLANTED = [
    ("base/clock.py", "import happe_study.people.devices.clocks", "happe_study.base is not allowed to import"),
    ("audit/chain.py", "from happe_study.runs.course import models", "happe_study.audit is not allowed to import"),
    (
        "results/exports/services.py",
        "def late():\n    import happe_study.app.health",
        "happe_study.results is not allowed",
    ),
    ("migrations/tables.py", "from happe_study.app import health", "happe_study.migrations is not allowed to import"),
    (
        "evidence/traces/parts.py",
        "import happe_study.evidence.checks.findings",
        "No cycles are allowed in happe_study.evidence",
    ),
    (
        "runs/course/machine.py",
        "from happe_study.runs.course import steps",
        "No cycles are allowed in happe_study.runs.course",
    ),
    ("other/__init__.py", "", "happe_study.other"),
]


def linted(sources: Path) -> subprocess.CompletedProcess[str]:
    """Run the check of `make lint-style` on a copy of the sources."""
    linter = str(Path(sys.executable).with_name("lint-imports"))
    command = [linter, "--no-cache", "--no-logo", "--config", str(ROOT / "pyproject.toml")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(sources), "COLUMNS": "200"}
    return subprocess.run(command, cwd=sources, env=environment, capture_output=True, text=True, check=False)


def test_an_import_that_the_layers_forbid_is_found(tmp_path: Path, subtests: pytest.Subtests) -> None:
    shutil.copytree(ROOT / SOURCES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    assert linted(tmp_path).returncode == 0
    for name, planted, said in PLANTED:
        with subtests.test(name):
            file = tmp_path / "happe_study" / name
            before = file.read_text(encoding="utf-8") if file.exists() else None
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"{before or ''}\n{planted}\n", encoding="utf-8")

            found = linted(tmp_path)

            assert found.returncode == 1, found.stderr
            assert said in re.sub(r"\s+", " ", found.stdout)
            if before is None:
                shutil.rmtree(file.parent)
            else:
                file.write_text(before, encoding="utf-8")
