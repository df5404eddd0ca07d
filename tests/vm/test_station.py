# SPDX-License-Identifier: GPL-2.0-or-later
"""The measuring station follows what a laptop tells; here it is told by the test, in virtual time."""

import socket
from pathlib import Path

import numpy as np
import pytest

from happe_contract.traces import Block
from happe_power.sources import KINDS, t61
from happe_power.sources.clock import Clock, VirtualClock
from happe_power.sources.source import SourceError
from happe_power.sources.spec import parse
from laboratory import station

BEGIN_US = 5_000_000_000


def test_a_lines_watts_count_from_when_it_came_until_the_next() -> None:
    laptop = station.Laptop()
    laptop.told(2_000_000, "2300000 1.000")
    laptop.told(3_000_000, "800000 0.500")
    table = t61.table_a2()
    expected = [table.at(800_000, 0), table.at(2_300_000, 1), table.at(2_300_000, 1), table.at(800_000, 0.5)]
    assert laptop.watts(np.array([1e6, 2e6, 2.999e6, 3e6])).tolist() == expected
    assert laptop.watts(np.array([2.5e6])).tolist() == [45.04]


@pytest.mark.parametrize("line", ["", "2300000", "fast 0.5", "800000 0.5 1"])
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid|could not"):
        station.Laptop().told(1, line)


def test_the_rig_shows_the_current_of_the_laptop_that_it_follows(tmp_path: Path) -> None:
    clock: Clock = VirtualClock(BEGIN_US, BEGIN_US)
    spec = parse(f"sim:{tmp_path}/power,rate=1000,noise=0,seed=1", KINDS)[1]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(spec.place)
        listener.listen()
        source = station.make(spec, clock)
        source.start(0)
        source.load.laptop.told(BEGIN_US + 20_000, "2300000 1.000")
        [block] = source.read(0.1).items
    assert isinstance(block, Block)
    volts = block.columns[0] * source.channels[0].scale
    assert len(volts) == 50
    assert volts[19] == pytest.approx(24.40 / 20 * 0.1, abs=1e-5)
    assert volts[20] == pytest.approx(45.04 / 20 * 0.1, abs=1e-5)


def test_the_lines_of_a_laptop_are_taken_until_it_is_off() -> None:
    ours, theirs = socket.socketpair()
    laptop = station.Laptop()
    with ours, theirs:
        ours.sendall(b"800000 0.0\n2300000 1.0\n")
        ours.shutdown(socket.SHUT_WR)
        station.take(theirs, laptop, VirtualClock(BEGIN_US, BEGIN_US))
    assert laptop.watts(np.array([float(BEGIN_US)])).tolist() == [45.04]


def test_a_laptop_that_is_not_there_is_told(tmp_path: Path) -> None:
    spec = parse(f"sim:{tmp_path}/power,rate=1000", KINDS)[1]
    with pytest.raises(SourceError, match=r"/power: No such file or directory; is the laptop switched on\?"):
        station.make(spec, VirtualClock(BEGIN_US, BEGIN_US))
