# SPDX-License-Identifier: GPL-2.0-or-later
"""packaging/setup.sh, in a tree of its own and with a stand-in for Debian's database of packages."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from program import ROOT

if TYPE_CHECKING:
    from pathlib import Path

HTMX = "django_htmx/static/django_htmx/htmx-2.min.js"
SERVED = "study-server/src/happe_study/static/vendor/htmx.min.js"


def test_the_demonstration_has_the_htmx_of_its_lock(tmp_path: Path) -> None:
    """Nothing is missing here, so nothing is fetched; npm is not there."""
    (tmp_path / "packaging").mkdir()
    for name in ("setup.sh", "requirements-demo.txt", "requirements-all.txt"):
        shutil.copy(ROOT / "packaging" / name, tmp_path / "packaging" / name)
    carried = tmp_path / "build/venv/lib/python3.99/site-packages" / HTMX
    carried.parent.mkdir(parents=True)
    carried.write_text("htmx")
    shutil.copy(ROOT / "packaging/requirements-demo.txt", tmp_path / "build/venv/.installed-demo")
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "dpkg-query").write_text("#!/bin/sh\nprintf installed\n")
    (commands / "dpkg-query").chmod(0o755)
    set_up = [str(tmp_path / "packaging/setup.sh"), "demo"]
    subprocess.run(set_up, env={"PATH": f"{commands}{os.pathsep}/usr/bin:/bin"}, check=True)
    assert (tmp_path / SERVED).read_text() == "htmx"
    assert "\ndjango-htmx==" in (ROOT / "packaging/requirements-demo.txt").read_text()


def test_the_server_serves_the_htmx_that_is_pinned() -> None:
    [installed] = (ROOT / "build/venv/lib").glob(f"python3*/site-packages/{HTMX}")
    assert (ROOT / SERVED).read_bytes() == installed.read_bytes()
