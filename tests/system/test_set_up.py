# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/setup.sh, in a tree of its own and with a stand-in for Debian's database of packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

UPLOT = "metaflow_extensions/card_uplot/plugins/cards/uplot/uplot"
# The scripts that the server serves, and the file of the package that has each.
CARRIED = {
    "htmx.min.js": "django_htmx/static/django_htmx/htmx-2.min.js",
    "uplot.min.js": f"{UPLOT}/uPlot.iife.min.js",
    "uplot.min.css": f"{UPLOT}/uPlot.min.css",
}
PARTED = (
    *("tools/setup.sh", "tools/served.sh", "tools/python_parts.py"),
    *("packaging/requirements.txt", "packaging/python-from-debian.toml"),
    *("pyproject.toml", "profiles/python/pyproject.toml", "study-server/pyproject.toml", "power-logger/pyproject.toml"),
)
SERVED = "study-server/src/happe_study/static/vendor"


def test_the_demonstration_has_the_scripts_of_its_lock(tmp_path: Path) -> None:
    """No script is missing here, so the setup fetches none. npm is not there."""
    for name in PARTED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    for name, place in CARRIED.items():
        carried = tmp_path / "build/venv/lib/python3.99/site-packages" / place
        carried.parent.mkdir(parents=True, exist_ok=True)
        carried.write_text(name)
    parts: list[str | Path] = [
        sys.executable,
        ROOT / "tools/python_parts.py",
        ROOT / "packaging/requirements.txt",
        tmp_path / "parts",
    ]
    subprocess.run(parts, check=True)
    pins = (tmp_path / "parts/demo.txt").read_text()
    (tmp_path / "build/venv/.installed-demo").write_text(pins)
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "dpkg-query").write_text("#!/bin/sh\nprintf installed\n")
    (commands / "dpkg-query").chmod(0o755)
    set_up = [str(tmp_path / "tools/setup.sh"), "demo"]
    subprocess.run(set_up, env={"PATH": f"{commands}{os.pathsep}/usr/bin:/bin"}, check=True)
    assert {name: (tmp_path / SERVED / name).read_text() for name in CARRIED} == {name: name for name in CARRIED}
    assert "\ndjango-htmx==" in pins
    assert "\nmetaflow-card-uplot==" in pins


def test_the_server_serves_the_scripts_that_are_pinned() -> None:
    for name, place in CARRIED.items():
        [installed] = (ROOT / "build/venv/lib").glob(f"python3*/site-packages/{place}")
        assert (ROOT / SERVED / name).read_bytes() == installed.read_bytes()
