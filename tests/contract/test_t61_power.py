# SPDX-License-Identifier: GPL-2.0-or-later
"""The power logger's simulated T61 and the governor's have the same power, by Table A.2 of the paper."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from happe_power.sources.t61 import table_a2
from patience import spend

ROOT = Path(__file__).resolve().parents[2]
LADDER, MODEL = ROOT / "governor/core/ladder.h", ROOT / "governor/sim/power_model.cpp"
SIM = ROOT / "build/bin/happe-sim"


def test_the_governors_table_has_the_same_figures() -> None:
    text = MODEL.read_text()
    frequencies = re.search(r"kT61Khz\{(.*?)\};", LADDER.read_text())
    assert frequencies
    assert tuple(int(khz.replace("'", "")) for khz in re.findall(r"Khz\{([\d']+)\}", frequencies[1])) == table_a2().khz
    rows = re.findall(r"^    \{([\d., ]+)\},$", text, re.MULTILINE)
    assert [[float(word) for word in row.split(",")] for row in rows] == table_a2().watts.tolist()
    assert table_a2().utilisation == tuple(tenth / 10 for tenth in range(11))


@pytest.mark.slow
def test_the_governors_program_prints_the_same_watts(tmp_path: Path) -> None:
    """By our own /proc/stat, two CPUs idle, then work. It prints watts at 0.8 GHz, and at 2.3 GHz in comparison."""
    stat = tmp_path / "stat"
    idle, busy = 1000, 1000
    write_stat(stat, busy, idle)
    watch = [str(SIM), "observe", "--seconds", "5", "--stat", str(stat)]
    began = time.monotonic()
    with subprocess.Popen(watch, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            is_idle = time.monotonic() - began < 2  # then three seconds of work
            idle, busy = idle + 10 * is_idle, busy + 10 * (not is_idle)
            write_stat(stat, busy, idle)
            spend(0.05)
        assert process.stdout
        _heading, *lines = process.stdout
    assert watts_in(lines[0]) == [round(table_a2().at(khz, 0.0), 1) for khz in (800_000, 2_300_000)]
    assert watts_in(lines[-1]) == [26.7, round(table_a2().at(2_300_000, 800 / 2300), 1)]


def write_stat(file: Path, busy: int, idle: int) -> None:
    """Write jiffies in user mode and idle as the kernel does, into the open file."""
    lines = [f"{name} {busy:010} 0 0 {idle:010} 0 0 0 0 0 0\n" for name in ("cpu ", "cpu0", "cpu1")]
    with file.open("r+b" if file.exists() else "wb", buffering=0) as stat:
        stat.write("".join(lines).encode())


def watts_in(line: str) -> list[float]:
    """Read the watts at 0.8 GHz, and at 2.3 GHz."""
    told = re.match(r"0\.8 GHz .* ([\d.]+) W \(at 2\.3 GHz ([\d.]+) W\)", line)
    assert told, line
    return [float(watts) for watts in told.groups()]
