# SPDX-License-Identifier: GPL-2.0-or-later
"""The IIO source on a simulated INA226. tests/vm/guest_tests/power uses the kernel's own driver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from happe_contract.traces import Block, Gap, Measures, Reason
from happe_power.recording.guard import guarded
from happe_power.source_kit import check_source, take
from happe_power.sources import libiio
from happe_power.sources.clock import VirtualClock
from happe_power.sources.fakes.iio import FakeDevice
from happe_power.sources.iio import Buffered, Polled, Setting
from happe_power.sources.libiio import Format
from happe_power.sources.source import SourceError, UnpluggedError

VOLTAGES = (("voltage0", "voltage1"), (Measures.SHUNT, Measures.SUPPLY))


def device(**fields: Any) -> tuple[FakeDevice, VirtualClock]:  # noqa: ANN401 - fields of FakeDevice
    """Return an INA226 with some unusual fields."""
    clock = VirtualClock()
    return FakeDevice(clock, **fields), clock


def test_polled_values_are_volts_by_the_drivers_scale_in_millivolts() -> None:
    chip, clock = device()
    source = Polled(chip, Setting(*VOLTAGES, 100.0), clock)
    taken = check_source(source, 5)
    shunt, supply = source.channels
    assert taken.column(0) * shunt.scale + shunt.offset == pytest.approx([0.02] * taken.end_index)
    assert taken.column(1) * supply.scale + supply.offset == pytest.approx([20.0] * taken.end_index)


def test_an_offset_counts_before_the_scale() -> None:
    chip, clock = device(offsets={"voltage0": -100.0})
    shunt = Polled(chip, Setting(*VOLTAGES, 100.0), clock).channels[0]
    assert 8000 * shunt.scale + shunt.offset == pytest.approx((8000 - 100) * 0.0025e-3)


def test_a_buffer_is_taken_whole_and_in_order() -> None:
    chip, clock = device(hz=1000.0)
    source = Buffered(chip, Setting(*VOLTAGES, None), clock)
    assert source.rate_hz == 1000.0
    taken = check_source(source, 20)
    assert taken.gaps == []
    assert taken.column(0).dtype == np.int16
    assert taken.end_index == pytest.approx((taken.pairs[-1].monotonic_us - taken.began.monotonic_us) / 1000, abs=51)
    assert source.notes == ()


def test_what_the_driver_loses_is_told_by_the_timestamps() -> None:
    chip, clock = device(hz=1000.0)
    source = Buffered(chip, Setting(*VOLTAGES, None), clock)
    taken = take(source, 5)
    before = taken.end_index
    chip.lose = 30
    for _ in range(5):
        taken.add(source.read(0.2))
    [gap] = taken.gaps
    assert (gap.from_index, gap.to_index, gap.reason) == (before, before + 30, Reason.OVERFLOW)


def test_a_device_without_timestamps_says_what_it_cannot_see() -> None:
    chip, clock = device(stamped=False)
    assert "nobody sees the samples that its driver loses" in Buffered(chip, Setting(*VOLTAGES, None), clock).notes[0]


def test_bits_that_lie_above_others_and_their_sign_are_taken_out() -> None:
    twelve = Format(np.dtype(">i2"), 12, 4, signed=True)
    wide = Format(np.dtype("<u4"), 24, 0, signed=False)
    chip, clock = device(
        values={"voltage0": -2048 + 7, "voltage1": 0xFF_FFFF}, formats={"voltage0": twelve, "voltage1": wide}
    )
    chip.values["voltage0"] = (-5 << 4) | 0xF  # the bits below the value have no meaning
    source = Buffered(chip, Setting(*VOLTAGES, None), clock)
    taken = take(source, 10)
    assert set(taken.column(0)) == {-5}
    assert set(taken.column(1)) == {0xFF_FFFF}
    assert taken.column(1).dtype == np.int32


def test_a_device_that_goes_away_is_unplugged_and_may_come_back() -> None:
    for make in (Polled, Buffered):
        chip, clock = device()
        source = make(chip, Setting(*VOLTAGES, 100.0), clock)
        take(source, 2)
        chip.gone = True
        with pytest.raises(UnpluggedError, match="No such device"):
            source.read(0.2)
        chip.gone = False
        assert take(source, 5, first_index=500).blocks[0].first_index == 500


@pytest.mark.parametrize(
    ("fields", "setting", "said"),
    [
        (
            {},
            Setting(("voltage0", "voltage7"), VOLTAGES[1], 100.0),
            "ina226 has no channel 'voltage7'; it has voltage0",
        ),
        ({}, Setting(("voltage0", "power2"), VOLTAGES[1], 100.0), "power2 can't be measured as supply; say measures="),
        ({"scales": {}}, Setting(*VOLTAGES, 100.0), "voltage0 has no scale"),
        ({"hz": None}, Setting(*VOLTAGES, 100.0), "does not say at what rate it fills a buffer; take mode=polled"),
        ({"hz": 400.0}, Setting(*VOLTAGES, 100.0), "samples at 400 Hz, not at 100 Hz: ask for rate=400"),
        ({"has_buffer": False}, Setting(*VOLTAGES, None), "has no buffer for voltage0+voltage1, or is in use"),
    ],
)
def test_what_a_device_cannot_do_is_told(fields: dict[str, Any], setting: Setting, said: str) -> None:
    chip, clock = device(**fields)
    with pytest.raises(SourceError, match=re.escape(said)):
        Buffered(chip, setting, clock)


@pytest.mark.parametrize("make", [Polled, Buffered])
def test_a_shunt_at_the_end_of_its_register_is_saturated(make: type[Polled | Buffered]) -> None:
    chip, clock = device(name="ina226-3-004a")  # some kernels tell where it sits, too
    source = make(chip, Setting(*VOLTAGES, 100.0), clock)
    for counts, pieces in ((32_766, {Block}), (32_767, {Gap}), (-32_767, {Block}), (-32_768, {Gap})):
        chip.values["voltage0"] = counts
        blocks = take(source, 3).blocks
        assert {type(piece) for block in blocks for piece in guarded(block, source.channels, 0)} == pieces
    assert source.notes == ()


@pytest.mark.parametrize(
    ("name", "gains", "shunt", "supply"),
    [
        ("ina226", {}, (-32_768, 32_767), 32_767),
        ("ina231", {}, (-32_768, 32_767), 32_767),
        ("ina219", {}, (-32_000, 32_000), 8000),  # the driver can't set the gains, and so leaves the widest range
        ("ina219", {"voltage0": 0.125, "voltage1": 1.0}, (-32_000, 32_000), 8000),
        ("ina220", {"voltage0": 1.0, "voltage1": 2.0}, (-4000, 4000), 4000),
    ],
)
def test_a_chips_ends_are_those_of_its_data_sheet_at_the_drivers_gain(
    name: str, gains: dict[str, float], shunt: tuple[int, int], supply: int
) -> None:
    lsb = {"voltage0": 0.01, "voltage1": 4.0} if name < "ina226" else {"voltage0": 0.0025, "voltage1": 1.25}
    chip, clock = device(name=name, gains=gains, scales=lsb)
    one, two = Polled(chip, Setting(*VOLTAGES, 100.0), clock).channels
    assert (one.lowest, one.highest) == shunt
    assert (two.lowest, two.highest) == (None, supply)  # 0 V is no end: a laptop that is off


def test_where_it_is_not_known_what_saturates_is_told() -> None:
    power = Setting(("power2",), (Measures.POWER,), 100.0)
    chip, clock = device(name="max1363")
    source = Polled(chip, Setting(*VOLTAGES, 100.0), clock)
    assert source.notes == ("max1363: the range of voltage0, voltage1 is unknown: saturation is not seen",)
    assert [channel.highest for channel in source.channels] == [None, None]
    chip, clock = device()
    assert Polled(chip, power, clock).notes == ("ina226: the range of power2 is unknown: saturation is not seen",)


def test_of_a_buffer_the_ends_of_the_words_are_known_at_least() -> None:
    twelve, unsigned = Format(np.dtype(">i2"), 12, 4, signed=True), Format(np.dtype("<u2"), 10, 0, signed=False)
    chip, clock = device(name="max1363", formats={"voltage0": twelve, "voltage1": unsigned})
    source = Buffered(chip, Setting(*VOLTAGES, None), clock)
    one, two = source.channels
    assert ((one.lowest, one.highest), (two.lowest, two.highest)) == ((-2048, 2047), (None, 1023))
    assert source.notes == (
        "max1363: the range of voltage0, voltage1 is unknown: saturation shows only at the ends of the words",
    )


def test_a_shunts_sign_that_the_driver_does_not_tell_of_its_buffer_is_known() -> None:
    told = Format(np.dtype("<u2"), 16, 0, signed=False)  # drivers/iio/adc/ina2xx-adc.c: all channels are 'u'
    chip, clock = device(formats={"voltage0": told, "voltage1": told})
    chip.values |= {"voltage0": -3 & 0xFFFF, "voltage1": 16_000}
    source = Buffered(chip, Setting(*VOLTAGES, None), clock)
    taken = take(source, 3)
    assert set(taken.column(0)) == {-3}
    assert set(taken.column(1)) == {16_000}


def test_a_value_that_does_not_fit_is_a_gap() -> None:
    chip, clock = device()
    source = Polled(chip, Setting(*VOLTAGES, 100.0), clock)
    taken = take(source, 1)
    chip.values["voltage0"] = 1 << 31
    taken.add(source.read(0.05))
    assert {gap.reason for gap in taken.gaps} == {Reason.INVALID}


def test_the_real_library_is_there_and_has_every_function_that_is_used() -> None:
    library = libiio.library()
    text = Path(libiio.__file__).read_text()
    names = set(re.findall(r"lib\.(iio_\w+)", text))
    names |= {f"iio_{name}" for name in re.findall(r'_text\("(\w+)"', text)}
    assert len(names) > 15
    for name in names:
        assert getattr(library, name)


def test_a_host_that_does_not_answer_is_told() -> None:
    with pytest.raises(SourceError, match=re.escape("IIO at xml:/nonexistent does not answer")):
        libiio.Context("xml:/nonexistent")


DESCRIPTION = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE context [<!ELEMENT context (device)*><!ELEMENT device (channel | attribute)*>
<!ELEMENT channel (scan-element?, attribute*)><!ELEMENT attribute EMPTY><!ELEMENT scan-element EMPTY>
<!ATTLIST context name CDATA #REQUIRED description CDATA #IMPLIED>
<!ATTLIST device id CDATA #REQUIRED name CDATA #IMPLIED>
<!ATTLIST channel id CDATA #REQUIRED type (input|output) #REQUIRED name CDATA #IMPLIED>
<!ATTLIST scan-element index CDATA #REQUIRED format CDATA #REQUIRED scale CDATA #IMPLIED>
<!ATTLIST attribute name CDATA #REQUIRED filename CDATA #IMPLIED>]>
<context name="xml" description="none">
<device id="iio:device0" name="ina226"><channel id="voltage0" type="input">
<scan-element index="0" format="le:S16/16&gt;&gt;0"/>
<attribute name="raw" filename="in_voltage0_raw"/></channel><channel id="voltage9" type="output"/></device>
<device id="trigger0"/></context>"""


def test_the_real_library_reads_a_description_of_devices(tmp_path: Path) -> None:
    description = tmp_path / "devices.xml"
    description.write_text(DESCRIPTION)
    context = libiio.Context(f"xml:{description}")
    [found] = context.devices()
    assert (found.id, found.name, found.inputs) == ("iio:device0", "ina226", ("voltage0",))
    assert found.attribute("voltage0", "scale") is None
    assert found.sampling_hz() is None
    with pytest.raises(UnpluggedError, match="ina226, voltage0"):
        found.raw("voltage0")
    assert found.open_buffer(("voltage0",), 10) is None
    context.close()
