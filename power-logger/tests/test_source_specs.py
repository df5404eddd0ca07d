# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of sources, and the messages about wrong names."""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from typing import Any

import pytest

from happe_power import sources
from happe_power.source_kit import check_kind
from happe_power.sources import OWN
from happe_power.sources.source import SourceError

FILE = {"kind": "file", "place": "a.csv", "channels": ["a", "b"]}


@pytest.mark.parametrize("name", OWN)
def test_every_kind_of_ours_keeps_to_what_others_have_to(name: str) -> None:
    check_kind(sources.KINDS[name])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "comedy"}, "kind: no source is called 'comedy'; did you mean comedi"),
        ({}, "kind: is missing; there are comedi, nidaqmx"),
        ({"kind": "sim", "rat": 5}, "rat: sim has no such option; did you mean rate"),
        ({"kind": "sim", "rate": "fast"}, "rate: must be a number"),
        ({"kind": "sim", "rate": math.inf}, "rate: must be a number"),
        ({"kind": "sim", "rate": dt.date(2026, 1, 1)}, "rate: must be a number"),
        ({"kind": "sim", "rate": {"of": math.nan}}, "rate: must be a number"),
        ({"kind": "sim", "rate": 0}, "rate: must be at least 0.01"),
        ({"kind": "sim", "seed": 1.5}, "seed: must be an integer"),
        ({"kind": "sim", "pace": "slow"}, 'pace: must be one of "real", "none"'),
        ({"kind": "sim", "place": 3}, "place: must be a string"),
        ({"kind": "sim", "drop": [[5]]}, "drop: "),
        ({"kind": "sim", "drop": [[5, 2], [6, 1]]}, "drop: stretches must ascend, must not overlap"),
        ({"kind": "sim", "place": "nowhere.json"}, "nowhere.json: No such file"),
        ({"kind": "file"}, 'kind: lacks "channels"'),
        ({"kind": "file", "channels": ["a", "b"]}, "place: which file?"),
        (FILE | {"time": "t", "index": "i"}, "index: `time` or `index`, not both"),
        ({"kind": "comedi", "channels": [0, 0]}, "channels: has an item twice"),
        ({"kind": "comedi", "range": [1, 2, 3]}, "range: 3 values for 2 channels"),
        ({"kind": "comedi", "measures": ["shunt"]}, "measures: say what each of the 2 channels measures"),
        ({"kind": "comedi", "measures": ["shunt", "volts"]}, 'measures: must be one of "shunt", "supply"'),
        ({"kind": "comedi", "place": "/dev/no"}, "/dev/no does not exist; is the board's module loaded"),
        ({"kind": "powercap", "zones": ["../../etc"]}, "there is no zone '../../etc'"),
    ],
)
def test_a_wrong_table_is_told_which_field_is_wrong_and_what_it_may_be(table: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.make(table)


@pytest.mark.parametrize("kind", sources.KINDS.loaded(), ids=lambda kind: kind.name)
def test_the_help_of_a_kind_is_a_table_that_names_it(kind: sources.Kind) -> None:
    assert sources.named(tomllib.loads(kind.help())).kind is kind


def test_what_is_missing_comes_with_the_command_that_gets_it() -> None:
    [found] = sources.KINDS["nidaqmx"].find()
    assert (found.table, found.command) == (None, "pip install happe-power-logger[nidaqmx]")
