# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/reachable.sh: other users reach a tree in root's closed home, and nothing else changes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from program import ROOT

NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")


def test_others_reach_the_tree_in_a_closed_home() -> None:
    with TemporaryDirectory() as closed:  # only its owner may look into it
        tree = Path(closed) / "a/tree"
        (tree / "tools").mkdir(parents=True)
        script = Path(shutil.copy(ROOT / "tools/reachable.sh", tree / "tools"))
        (Path(closed) / "secret").touch()
        as_other = NOBODY if os.geteuid() == 0 else ()
        look = [script, *as_other, "sh", "-c", "pwd; ls; ls ../.."]
        ran = subprocess.run(look, capture_output=True, text=True, check=True, umask=0o077)
        beside = [] if os.geteuid() == 0 else ["secret"]
        assert ran.stdout.split() == [str(tree), "tools", "a", *beside]
        assert stat.S_IMODE(Path(closed).stat().st_mode) == 0o700
        assert sorted(entry.name for entry in Path(closed).iterdir()) == ["a", "secret"]


def test_the_status_is_the_commands() -> None:
    assert subprocess.run([ROOT / "tools/reachable.sh", "sh", "-c", "exit 3"], check=False).returncode == 3
