# SPDX-License-Identifier: GPL-2.0-or-later
"""An instrument that happe-power polls: the laptop's battery."""

from pathlib import Path

from t61 import firmware, power_logger
from t61.firmware import Reading

BATTERY = 'kind = "power_supply"\nplace = "BAT0"\nrate = 5'


def test_the_battery_is_read_while_the_laptop_runs_on_it(tmp_path: Path) -> None:
    firmware.mains(plugged_in=False)
    firmware.platform_says({Reading.RATE_MW: 18_500})
    try:
        trace = power_logger.record(BATTERY, tmp_path, 3, may_lose=True)
    finally:
        firmware.mains(plugged_in=True)
    assert [channel["measures"] for channel in trace.header["channels"]] == ["power"]
    assert set(trace.values(0)) == {18.5}
    assert trace.unexplained() == 0


def test_the_battery_is_refused_while_it_is_charged(tmp_path: Path) -> None:
    firmware.mains(plugged_in=True)
    with power_logger.begin(BATTERY, tmp_path, 1) as process:
        process.communicate()
    assert process.returncode == 69  # sysexits.h, EX_UNAVAILABLE


def test_sources_says_what_there_is_and_what_is_missing(comedi: str) -> None:
    told = power_logger.run("sources")
    assert f'place = "{comedi}"' in told
    assert "pip install happe-power-logger[nidaqmx]" in told
