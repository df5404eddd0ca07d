# SPDX-License-Identifier: GPL-2.0-or-later
"""happed beside Debian's TLP, tuned and thermald. The kernel records who writes what to cpufreq.

One test is about what the kernel tells happed of mains and battery.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61 import firmware
from t61.cpufreq import LADDER_KHZ
from t61.happe import CONFIGURATION, Happed, wants
from t61.sessions import command
from t61.waiting import spend, wait_until
from t61.written import writes, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from t61.cpufreq import Policy
    from t61.written import Write

    Show = Callable[[str, list[str]], None]

LIMIT, WANTED, TOP = LADDER_KHZ[2:]

TLP_CONF = f"""CPU_SCALING_GOVERNOR_ON_AC=ondemand
CPU_SCALING_GOVERNOR_ON_BAT=powersave
CPU_SCALING_MAX_FREQ_ON_AC={TOP}
CPU_SCALING_MAX_FREQ_ON_BAT={LIMIT}
"""

HEAT = Path("/run/palm-rest")
# Each tag has its own line: thermald's parser skips an element that begins with another one.
THERMAL_CONF = f"""<ThermalConfiguration>
  <Platform>
    <Name>T61</Name>
    <ProductName>*</ProductName>
    <Preference>QUIET</Preference>
    <PollingInterval>1</PollingInterval>
    <ThermalSensors>
      <ThermalSensor>
        <Type>palm-rest</Type>
        <Path>{HEAT}</Path>
      </ThermalSensor>
    </ThermalSensors>
    <ThermalZones>
      <ThermalZone>
        <Type>laptop</Type>
        <TripPoints>
          <TripPoint>
            <SensorType>palm-rest</SensorType>
            <Temperature>60000</Temperature>
            <type>passive</type>
            <CoolingDevice>
              <type>speed</type>
              <SamplingPeriod>1</SamplingPeriod>
            </CoolingDevice>
          </TripPoint>
        </TripPoints>
      </ThermalZone>
    </ThermalZones>
    <CoolingDevices>
      <CoolingDevice>
        <Type>speed</Type>
        <Path>/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq</Path>
        <MinState>{TOP}</MinState>
        <IncDecStep>-300000</IncDecStep>
        <MaxState>{LADDER_KHZ[0]}</MaxState>
      </CoolingDevice>
    </CoolingDevices>
  </Platform>
</ThermalConfiguration>
"""


@pytest.fixture
def thermald(tmp_path: Path) -> Iterator[None]:
    """Debian's thermald with a sensor in a file: this machine has no thermal zone. It cools by `scaling_max_freq`."""
    configuration = tmp_path / "thermal-conf.xml"
    configuration.write_text(THERMAL_CONF)
    HEAT.write_text("30000")
    options = ["--no-daemon", "--ignore-cpuid-check", "--config-file", str(configuration)]
    with subprocess.Popen(["thermald", *options]) as process:
        yield
        process.terminate()
    HEAT.unlink()


@pytest.fixture
def tlp() -> Iterator[None]:
    """TLP as its package installs it, with limits for mains and battery."""
    files = [file.relative_to("/opt/tlp") for file in Path("/opt/tlp").rglob("*") if file.is_file()]
    shutil.copytree("/opt/tlp", "/", dirs_exist_ok=True, symlinks=True)
    Path("/etc/tlp.d/50-limits.conf").write_text(TLP_CONF)
    command("udevadm", "control", "--reload")
    yield
    firmware.mains(plugged_in=True)
    for file in files:
        ("/" / file).unlink()
    command("udevadm", "control", "--reload")


def has(policy: Policy, file: str, value: object) -> None:
    """Wait until a file shows this."""
    wait_until(lambda: policy.read(file) == str(value), f"{file} is {value}")


def settles(policy: Policy) -> None:
    """Wait until HAPPE governs at the taught frequency and has forgotten what it took back (60 s)."""
    has(policy, "scaling_governor", "userspace")
    has(policy, "scaling_setspeed", WANTED)
    spend(61)


def time_line(found: list[Write]) -> list[str]:
    """Make the table of writes over time."""
    rows = [f"{write.at_s - found[0].at_s:7.1f}  {write.who:10} {write.file:17} {write.text}" for write in found]
    return [f"{'s':>7}  {'who':10} {'file':17} what", *rows]


@pytest.mark.usefixtures("alice", "tlp", "thermald")
def test_happed_beside_tlp_thermald_and_tuned(policy: Policy, show: Show) -> None:
    with written() as trace:
        happed = Happed()
        try:
            happed.wait_for("governing")
            wants(happed, WANTED)
            settles(policy)
            firmware.mains(plugged_in=False)  # udev starts TLP
            has(policy, "scaling_max_freq", LIMIT)
            has(policy, "scaling_setspeed", LIMIT)
            firmware.mains(plugged_in=True)
            has(policy, "scaling_max_freq", TOP)
            settles(policy)
            HEAT.write_text("90000")
            has(policy, "scaling_max_freq", LADDER_KHZ[0])
            has(policy, "scaling_setspeed", LADDER_KHZ[0])
            HEAT.write_text("30000")
            has(policy, "scaling_max_freq", TOP)
            settles(policy)
            command("systemctl", "start", "tuned")
            command("tuned-adm", "profile", "powersave")
            settles(policy)
            command("systemctl", "stop", "tuned")
            settles(policy)
            assert happed.property("State") == "governing"
        finally:
            happed.stop()
            found = writes(trace.read_text())
            show("time-line", time_line(found))
    limits = [write for write in found if write.file in ("scaling_min_freq", "scaling_max_freq")]
    assert {"tlp", "thermald", "tuned", "happed"} <= {write.who for write in found}
    assert "happed" not in {write.who for write in limits}


@pytest.mark.usefixtures("alice")
def test_the_kernel_tells_when_the_laptop_is_plugged_in(policy: Policy) -> None:
    CONFIGURATION.parent.mkdir(exist_ok=True)
    CONFIGURATION.write_text("[mains]\ngovern = false\n")
    firmware.mains(plugged_in=False)
    happed = Happed()
    try:
        happed.wait_for("governing")
        for _ in range(2):
            firmware.mains(plugged_in=True)
            happed.wait_for("released")
            assert happed.property("Source") == "mains"
            has(policy, "scaling_governor", "ondemand")
            firmware.mains(plugged_in=False)
            happed.wait_for("governing")
            assert happed.property("Source") == "battery"
    finally:
        happed.stop()
        CONFIGURATION.unlink()
        firmware.mains(plugged_in=True)
