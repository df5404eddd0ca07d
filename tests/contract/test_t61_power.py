# SPDX-License-Identifier: GPL-2.0-or-later
"""The power logger's simulated T61 and the governor's have the same power, by Table A.2 of the paper."""

import re
from pathlib import Path

from happe_power.sources.t61 import table_a2

ROOT = Path(__file__).resolve().parents[2]
LADDER, MODEL = ROOT / "governor/core/ladder.h", ROOT / "governor/sim/machine.cpp"


def test_the_governors_table_has_the_same_figures() -> None:
    text = MODEL.read_text()
    frequencies = re.search(r"kT61Khz\{(.*?)\};", LADDER.read_text())
    assert frequencies
    assert tuple(int(khz.replace("'", "")) for khz in re.findall(r"Khz\{([\d']+)\}", frequencies[1])) == table_a2().khz
    rows = re.findall(r"^    \{([\d., ]+)\},$", text, re.MULTILINE)
    assert [[float(word) for word in row.split(",")] for row in rows] == table_a2().watts.tolist()
    assert table_a2().utilisation == tuple(tenth / 10 for tenth in range(11))
