# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruments that happe-power polls, or that fill a small buffer: an INA226 through IIO, the laptop's battery."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from t61 import firmware, power_logger
from t61.firmware import Reading

if TYPE_CHECKING:
    from pathlib import Path

    from t61.ina226 import Ina226

SHUNT_V, BUS_V = 2.5e-6, 1.25e-3  # volts of one count, by the data sheet


def test_an_ina226_is_polled_through_iio(ina226: Ina226, tmp_path: Path) -> None:
    ina226.show(shunt=-4000 & 0xFFFF, bus=16_000)
    trace = power_logger.record("iio:ina226,rate=20", tmp_path, 4, may_lose=True)
    volts, supply = trace.values(0), trace.values(1)
    assert trace.unexplained() == 0
    assert len(volts) == trace.manifest["samples"] > 40
    assert volts == pytest.approx([-4000 * SHUNT_V] * len(volts))
    assert supply == pytest.approx([16_000 * BUS_V] * len(volts))


def test_an_ina226_fills_a_buffer(ina226: Ina226, tmp_path: Path) -> None:
    ina226.show(shunt=8000, bus=16_000)
    trace = power_logger.record("iio:ina226,mode=buffered", tmp_path, 4, may_lose=True)
    volts = trace.values(0)
    assert trace.unexplained() == 0
    assert len(volts) == trace.manifest["samples"] > 4 * trace.header["rate_hz"] / 3
    assert volts == pytest.approx([8000 * SHUNT_V] * len(volts))


def test_the_battery_is_read_while_the_laptop_runs_on_it(tmp_path: Path) -> None:
    firmware.mains(plugged_in=False)
    firmware.platform_says({Reading.RATE_MW: 18_500})
    try:
        trace = power_logger.record("power_supply:BAT0,rate=5", tmp_path, 3, may_lose=True)
    finally:
        firmware.mains(plugged_in=True)
    assert [channel["measures"] for channel in trace.header["channels"]] == ["power"]
    assert set(trace.values(0)) == {18.5}
    assert trace.unexplained() == 0


def test_the_battery_is_refused_while_it_is_charged(tmp_path: Path) -> None:
    firmware.mains(plugged_in=True)
    with power_logger.begin("power_supply:BAT0,rate=5", tmp_path, 1) as process:
        process.communicate()
    assert process.returncode == 69  # sysexits.h, EX_UNAVAILABLE


def test_sources_says_what_there_is_and_what_is_missing(comedi: str, ina226: Ina226) -> None:
    assert ina226
    told = power_logger.run("sources")
    assert f"comedi:{comedi}" in told
    assert "iio:" in told
    assert "sudo apt-get install sigrok-cli" in told
