# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of sources, and the messages about wrong names."""

from __future__ import annotations

import re

import numpy as np
import pytest

from happe_contract import schemas
from happe_contract.traces import Measures
from happe_power import sources
from happe_power.source_kit import check_kind
from happe_power.sources import spec
from happe_power.sources.door import OWN
from happe_power.sources.source import SourceError


@pytest.mark.parametrize("name", OWN)
def test_every_kind_of_ours_keeps_to_what_others_have_to(name: str) -> None:
    check_kind(sources.KINDS[name])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("comedy:/dev/comedi0", "no source is called 'comedy'; did you mean comedi"),
        ("", "no source is called ''; there are comedi, nidaqmx"),
        ("sim,rat=5", "sim has no option 'rat'; did you mean rate"),
        ("sim,rate", "'rate' is not OPTION=VALUE; e.g. sim,rate=10000"),
        ("sim,rate=", "'rate=' is not OPTION=VALUE"),
        ("sim,rate=5,rate=6", "rate= is given twice"),
        ("sim,rate=fast", "rate=fast must be a number; e.g. sim,rate=10000"),
        ("sim,rate=nan", "rate=nan must be a number"),
        ("sim,rate=inf", "rate=inf must be a number"),
        ("sim,rate=0", "rate=0 must be at least 0.01"),
        ("sim,seed=1.5", "seed=1.5 must be an integer"),
        ("sim,pace=slow", 'pace=slow must be one of "real", "none"'),
        ("sim,drop=5", "drop=5 is not START:LENGTH in seconds"),
        ("sim,drop=inf:1", "drop=inf:1 is not START:LENGTH in seconds"),
        ("sim,drop=5:2+6:1", "drop=6:1: drops must ascend, must not overlap"),
        ("sim,noise=-1", "noise=-1 must be at least 0"),
        ("sim:nowhere.json", "nowhere.json: No such file"),
        ("file:a.csv", "channels= is missing"),
        ("file,channels=a+b", "which file? e.g. file:rig.csv"),
        ("file:a.csv,channels=a+b,time=t,index=i", "time= or index=, not both"),
        ("comedi,channels=0+0", "channels=0+0 has an item twice"),
        ("comedi,channels=ai0", "channels=ai0 must be an integer"),
        ("comedi,channels=0+1,range=1+2+3", "range=1+2+3: 3 values for 2 channels"),
        ("comedi,channels=0+1,measures=shunt", "say what each of the 2 channels measures"),
        ("comedi,channels=0+1,measures=shunt+volts", 'measures=shunt+volts must be one of "shunt", "supply"'),
        ("comedi,aref=earth", 'aref=earth must be one of "ground"'),
        ("comedi:/dev/no-such-board", "/dev/no-such-board does not exist; is the board's module loaded"),
        ("powercap:../../etc", "there is no zone '../../etc'"),
    ],
)
def test_a_wrong_spec_is_told_which_word_is_wrong_and_what_it_may_be(text: str, said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.make(text)


def test_a_list_may_be_one_value_for_all_and_a_default_may_be_too_long() -> None:
    _, both = spec.parse("comedi,channels=0+1+2,range=5,measures=shunt+supply+current", sources.KINDS)
    assert both.numbers("range", 3) == (5.0, 5.0, 5.0)
    assert both.measures(3) == (Measures.SHUNT, Measures.SUPPLY, Measures.CURRENT)
    _, one = spec.parse("comedi,channels=3", sources.KINDS)
    assert (one.numbers("range", 1), one.measures(1)) == ((0.5,), (Measures.SHUNT,))


def test_what_is_missing_comes_with_the_command_that_gets_it() -> None:
    [found] = sources.KINDS["nidaqmx"].find()
    assert (found.spec, found.command) == (None, "pip install happe-power-logger[nidaqmx]")


def test_channels_of_the_same_kind_have_names_of_their_own() -> None:
    measures = (Measures.SHUNT, Measures.SHUNT, Measures.SUPPLY)
    channels = spec.channels_of(measures, np.dtype(np.int16), [1.0] * 3, [0.0] * 3)
    assert [channel.name for channel in channels] == ["shunt", "shunt2", "supply"]


def test_the_table_comes_with_the_package() -> None:
    assert (schemas.MACHINES / "t61-power.csv").is_file()
