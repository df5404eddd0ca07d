# SPDX-License-Identifier: GPL-2.0-or-later
"""The nidaqmx source on a fake of NI's package. The package needs NI's driver, which nobody may redistribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fake_boards import FakeNi
from happe_contract.traces import Measures, Reason
from happe_power import sources
from happe_power.source_kit import check_source, take
from happe_power.sources import nidaqmx
from happe_power.sources.clock import VirtualClock
from happe_power.sources.nidaqmx import Nidaqmx, Setting
from happe_power.sources.source import SourceError, UnpluggedError

PAPER = Setting("Dev1", ("ai0", "ai1"), (0.5, 10.0), (Measures.SHUNT, Measures.SUPPLY), "diff", 1000.0, 2.0)


def rig(setting: Setting = PAPER, **fields: Any) -> tuple[Nidaqmx, FakeNi, VirtualClock]:  # noqa: ANN401 - of FakeNi
    """Return a source on the fake package."""
    clock = VirtualClock()
    fake = FakeNi(clock, **fields)
    return Nidaqmx(fake, setting, clock), fake, clock


def test_every_sample_is_there_as_volts() -> None:
    source, fake, _ = rig()
    taken = check_source(source, 20)
    assert taken.gaps == []
    assert taken.column(0) == pytest.approx(np.arange(taken.end_index) * 1e-3)
    assert taken.column(1) == pytest.approx((np.arange(taken.end_index) + 1) * 1e-3)
    assert taken.end_index == pytest.approx((taken.pairs[-1].monotonic_us - taken.began.monotonic_us) / 1000, abs=1)
    assert (source.device, source.serial) == ("PCI-6034E (Dev1)", "BEEF")
    assert set(fake.buffers) == {2000}
    assert fake.opened == fake.closed == 3  # one task to ask for the granted rate, and two starts


def test_samples_that_were_overwritten_are_an_overflow_of_the_right_length() -> None:
    source, fake, clock = rig()
    taken = take(source, 3)
    before = taken.end_index
    clock.sleep(5.0)
    for _ in range(3):
        taken.add(source.read(0.2))
    [gap] = taken.gaps
    assert (gap.from_index, gap.reason) == (before, Reason.OVERFLOW)
    assert gap.to_index - gap.from_index == pytest.approx(5050, abs=2)  # NI's driver gives none of its stored samples
    assert fake.opened == 3


def test_a_board_that_is_unplugged_says_so_and_may_come_back() -> None:
    source, fake, _ = rig()
    take(source, 2)
    fake.gone = True
    with pytest.raises(UnpluggedError, match="Dev1: Device cannot be accessed"):
        source.read(0.2)
    with pytest.raises(UnpluggedError):
        source.start(5000)
    fake.gone = False
    assert take(source, 2, first_index=5000).blocks[0].first_index == 5000


def test_a_channel_that_is_not_there_is_told() -> None:
    with pytest.raises(SourceError, match="channel specified does not exist on this device: Dev1/ai1"):
        rig(most_inputs=1)


def test_without_the_package_the_command_that_gets_it_is_said() -> None:
    with pytest.raises(SourceError, match="pip install happe-power-logger"):
        sources.make({"kind": "nidaqmx", "place": "Dev1"})


def test_without_the_driver_it_is_said_where_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeNi(VirtualClock(), driver=False)
    monkeypatch.setattr(nidaqmx, "package", lambda: fake)
    with pytest.raises(SourceError, match=r"NI's driver does not answer: .*ni\.com"):
        sources.make({"kind": "nidaqmx", "place": "Dev1"})
    [one] = sources.KINDS["nidaqmx"].find()
    assert (one.table, one.command) == (None, nidaqmx.GET_DRIVER)
