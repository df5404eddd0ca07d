# SPDX-License-Identifier: GPL-2.0-or-later
"""The folder with which the emulated T61 runs happe-power."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

import power_tree


@pytest.mark.slow
def test_the_systems_python_runs_the_program_from_it_alone(tmp_path: Path) -> None:
    power_tree.make(tmp_path / "power", Path(sysconfig.get_paths()["platlib"]))
    words: list[str | Path] = [
        "record",
        "--source",
        "sim,rate=1000",
        "--study",
        "t",
        "--spool",
        tmp_path / "spool",
        "--duration",
        "1s",
    ]
    command = ["/usr/bin/python3", "-m", "happe_power", *words, "--no-upload", "--no-zero-check"]
    only = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path / "power")}
    subprocess.run(command, check=True, env=only, capture_output=True)
    assert len(list((tmp_path / "spool").glob("t/*/parts/*.parquet"))) == 1
    assert not list((tmp_path / "power").rglob("*.py"))


def test_a_package_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"click is not in .*; run `make setup`"):
        power_tree.make(tmp_path / "power", tmp_path)
