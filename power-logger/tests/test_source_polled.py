# SPDX-License-Identifier: GPL-2.0-or-later
"""Polled sources: the poller, the processor's energy counters, the battery's gauge."""

import os
import re
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from happe_contract.traces import Block, Channel, Gap, Measures, Reason
from happe_power import sources
from happe_power.source_kit import Taken, check_source, take
from happe_power.sources import poller
from happe_power.sources.clock import VirtualClock
from happe_power.sources.poller import Poller, Row
from happe_power.sources.power_supply import PowerSupply
from happe_power.sources.powercap import Counter
from happe_power.sources.source import SourceError, UnpluggedError

ONE = (Channel("power", Measures.POWER, "W", np.dtype(np.int32), 1.0, 0.0),)


def poll(poller: Poller, reads: int, timeout_s: float = 0.2, first_index: int = 0) -> Taken:
    """Read a poller this many times."""
    taken = Taken(poller.start(first_index))
    for _ in range(reads):
        taken.add(poller.read(timeout_s))
    return taken


def test_a_poll_a_period_and_its_index_is_rate_times_time() -> None:
    clock = VirtualClock()
    begun = clock.now().monotonic_us
    times: list[int] = []

    def sample() -> Row:
        times.append(clock.now().monotonic_us - begun)
        return (len(times) - 1,)

    taken = poll(Poller(sample, ONE, 10.0, clock), 10, first_index=7)
    assert times == [number * 100_000 for number in range(len(times))]
    assert taken.gaps == []
    assert (taken.column(0) == np.arange(len(times))).all()
    assert all(pair.monotonic_us - begun == (pair.index - 7) * 100_000 for pair in taken.pairs)


def test_missed_polls_are_a_stall_and_the_next_has_the_index_of_its_time() -> None:
    clock = VirtualClock()
    delays = {3: 0.5, 6: 0.05}  # the 4th reading takes half a second, the 7th half a period
    numbers = count()

    def sample() -> Row:
        number = next(numbers)
        clock.sleep(delays.get(number, 0.0))
        return (number,)

    taken = poll(Poller(sample, ONE, 10.0, clock), 12)
    [gap] = taken.gaps
    assert gap == Gap(4, 8, Reason.STALL)
    assert taken.blocks[-1].columns[0][-1] == taken.end_index - 1 - 4


def test_a_reading_of_no_use_is_a_gap_of_one() -> None:
    readings = iter([(1,), None, None, (4,), (5,)])
    taken = poll(Poller(lambda: next(readings), ONE, 10.0, VirtualClock()), 3, timeout_s=0.15)
    assert [type(item) for item in taken.items][:3] == [Block, Gap, Gap]
    assert {gap.reason for gap in taken.gaps} == {Reason.INVALID}
    assert sum(gap.to_index - gap.from_index for gap in taken.gaps) == 2


@pytest.fixture
def sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /sys."""
    monkeypatch.setattr(poller, "SYS", tmp_path)
    return tmp_path


def zone_of(sys: Path, name: str = "intel-rapl:0", label: str = "package-0", span: int = 262_143_328_850) -> Path:
    """An energy counter, as in the kernel."""
    zone = sys / "class/powercap" / name
    zone.mkdir(parents=True)
    for attribute, value in {"name": label, "energy_uj": 1000, "max_energy_range_uj": span}.items():
        (zone / attribute).write_text(f"{value}\n")
    return zone


def test_a_counter_counts_on_through_its_wrap() -> None:
    counter = Counter(990, span=1000)
    assert [counter.advance(raw, 1000) for raw in (995, 3, 3, 999, 2)] == [5, 13, 13, 1009, 1012]


def test_a_counter_that_grew_more_than_it_can_began_anew() -> None:
    counter = Counter(400, span=1000)
    assert [counter.advance(raw, 100) for raw in (500, 30, 60, 990, 20)] == [100, 0, 30, 0, 30]


def test_a_counter_beyond_its_span_is_refused() -> None:
    with pytest.raises(SourceError, match="has the value 1001, but its max_energy_range_uj is 1000"):
        Counter(990, span=1000).advance(1001, 1000)
    with pytest.raises(SourceError, match="has the value -1"):
        Counter(990, span=1000).advance(-1, 1000)


def test_each_zone_is_a_channel_in_joules(sys: Path) -> None:
    package, psys = zone_of(sys), zone_of(sys, "intel-rapl:1", "psys")
    zone_of(sys, "intel-rapl:0:0", "core")  # a part of package-0; the source takes it only by name
    clock = VirtualClock()
    source = sources.make({"kind": "powercap"}, clock)
    assert [(channel.name, channel.unit) for channel in source.channels] == [("package_0", "J"), ("psys", "J")]
    (psys / "energy_uj").write_text("262143328000\n")
    source.start(0)
    (package / "energy_uj").write_text("2500\n")
    (psys / "energy_uj").write_text("900\n")  # the counter has wrapped
    block = source.read(0.05).items[0]
    assert isinstance(block, Block)
    assert [int(column[0]) for column in block.columns] == [1500, 850 + 900]
    assert block.columns[0].dtype == np.int64
    assert source.channels[0].scale == 1e-6


def test_a_zone_can_be_named_and_one_that_is_not_there_is_told(sys: Path) -> None:
    zone_of(sys)
    zone_of(sys, "intel-rapl:0:0", "core")
    source = sources.make(
        {"kind": "powercap", "zones": ["intel-rapl:0:0", "intel-rapl:0"], "rate": 20}, clock := VirtualClock()
    )
    check_source(source, clock)
    assert [channel.name for channel in source.channels] == ["core", "package_0"]
    with pytest.raises(
        SourceError, match="there is no zone 'intel-rapl:7' with a counter; there are intel-rapl:0, intel"
    ):
        sources.make({"kind": "powercap", "zones": ["intel-rapl:7"]})


def test_polling_too_seldom_to_undo_wraps_is_refused(sys: Path) -> None:
    zone_of(sys, span=65_000_000_000)  # 65 kJ: a minute at a kilowatt
    sources.make({"kind": "powercap", "rate": 0.1})
    with pytest.raises(SourceError, match=r"rate = 0\.01 is too low: a counter may wrap twice"):
        sources.make({"kind": "powercap", "rate": 0.01})


def test_more_than_one_wrap_cannot_be_told_so_it_is_said_and_counting_begins_anew(sys: Path) -> None:
    zone = zone_of(sys, span=65_000_000_000)
    clock = VirtualClock()
    source = sources.make({"kind": "powercap", "rate": 1}, clock)
    source.start(0)
    (zone / "energy_uj").write_text("501000\n")
    source.read(1.0)
    clock.sleep(66)
    with pytest.raises(SourceError, match="may have wrapped more than once"):
        source.read(1.0)
    source.start(70)
    (zone / "energy_uj").write_text("501500\n")
    block = source.read(1.0).items[0]
    assert isinstance(block, Block)
    assert int(block.columns[0][0]) == 500  # from 0 again, so a difference sees a step down


def test_a_zone_that_goes_away_is_unplugged(sys: Path) -> None:
    zone = zone_of(sys)
    source = sources.make({"kind": "powercap"}, VirtualClock())
    source.start(0)
    (zone / "energy_uj").unlink()
    with pytest.raises(UnpluggedError, match="energy_uj: No such file"):
        source.read(0.2)


@pytest.mark.parametrize("text", ["", "12e3", "0x10", "twelve", "9" * 5000])
def test_a_counter_that_is_no_number_is_told(sys: Path, text: str) -> None:
    zone = zone_of(sys)
    source = sources.make({"kind": "powercap"}, VirtualClock())
    source.start(0)
    (zone / "energy_uj").write_text(text)
    with pytest.raises(SourceError, match=re.escape(f"{zone}/energy_uj: ")):
        source.read(0.2)


def test_zones_are_found_with_the_command_that_opens_them(sys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = zone_of(sys)
    table = {"kind": "powercap", "zones": ["intel-rapl:0"], "rate": 10}
    assert [one.table for one in sources.kinds()["powercap"].find()] == [table]
    monkeypatch.setattr(os, "access", lambda *_: False)
    [one] = sources.kinds()["powercap"].find()
    assert (one.table, one.command) == (None, f"sudo chmod a+r {zone}/energy_uj")


def battery_in(sys: Path, name: str = "BAT0", **attributes: object) -> Path:
    """A battery that discharges at 18.5 W, as in the kernel."""
    battery = sys / "class/power_supply" / name
    battery.mkdir(parents=True)
    usual = {"type": "Battery", "status": "Discharging", "manufacturer": "SANYO", "model_name": "42T4619"}
    for attribute, value in {**usual, **(attributes or {"power_now": 18_500_000})}.items():
        (battery / attribute).write_text(f"{value}\n")
    return battery


def test_the_gauges_power_is_a_channel(sys: Path) -> None:
    battery_in(sys, power_now=18_500_000, voltage_now=12_000_000, serial_number="  527")
    source = sources.make({"kind": "power_supply"}, clock := VirtualClock())
    assert (source.device, source.serial) == ("BAT0 SANYO 42T4619", "527")
    [channel] = source.channels
    assert (channel.measures, channel.unit) == (Measures.POWER, "W")
    assert set(check_source(source, clock, 10).column(0) * channel.scale) == {18.5}


def test_a_gauge_of_voltage_and_current_is_two_channels_and_a_current_has_no_sign(sys: Path) -> None:
    battery_in(sys, voltage_now=11_100_000, current_now=-1_500_000)
    source = sources.make({"kind": "power_supply", "place": "BAT0", "rate": 2}, VirtualClock())
    assert [channel.measures for channel in source.channels] == [Measures.SUPPLY, Measures.CURRENT]
    taken = take(source, 5)
    assert set(taken.column(0)) == {11_100_000}
    assert set(taken.column(1)) == {1_500_000}


def test_a_battery_that_is_not_discharging_tells_nothing(sys: Path) -> None:
    battery = battery_in(sys)
    (battery / "status").write_text("Charging\n")
    source = sources.make({"kind": "power_supply", "rate": 10}, VirtualClock())
    with pytest.raises(SourceError, match=r"BAT0 is Charging: .* unplug the mains"):
        source.start(0)
    (battery / "status").write_text("Discharging\n")
    taken = take(source, 2)
    (battery / "status").write_text("Full\n")
    taken.add(source.read(0.2))
    assert {gap.reason for gap in taken.gaps} == {Reason.INVALID}


def test_how_seldom_the_gauge_renews_itself_is_said(sys: Path) -> None:
    battery = battery_in(sys)
    clock = VirtualClock()
    source = PowerSupply(battery, 10.0, clock)
    source.start(0)
    assert "has changed less than twice" in source.notes[0]
    for watts in (18_500_000, 19_000_000, 19_500_000):
        (battery / "power_now").write_text(f"{watts}\n")
        for _ in range(20):
            source.read(0.1)
    assert "renews itself every 2 s or less often" in source.notes[0]


def test_batteries_of_the_machine_are_found_and_those_of_mice_are_not(sys: Path) -> None:
    battery_in(sys)
    battery_in(sys, "BAT1", energy_now=5)  # no gauge of power
    battery_in(sys, "hidpp_battery_0", power_now=1, scope="Device")
    mains = sys / "class/power_supply/ADP1"
    mains.mkdir()
    (mains / "type").write_text("Mains\n")
    first, second = sources.kinds()["power_supply"].find()
    assert first.table == {"kind": "power_supply", "place": "BAT0", "rate": 1}
    assert "renews itself once in 1 to 60 s" in first.says
    assert (second.table, second.says) == (None, "BAT1 has no gauge: neither power_now nor voltage_now and current_now")
    with pytest.raises(SourceError, match="there is no battery 'BAT7'; there is BAT0, BAT1"):
        sources.make({"kind": "power_supply", "place": "BAT7"})
