# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruments of the kernel: comedi's simulated board, and an INA226 whose registers are in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.ina226 import ADDRESS, Ina226, stub_bus
from t61.power_logger import PACKAGES
from t61.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(PACKAGES))  # numpy and pyarrow, to look into traces with


@pytest.fixture(scope="session")
def comedi() -> Iterator[str]:
    """The simulated board of the module comedi_test: /dev/comedi0."""
    subprocess.run(["modprobe", "-a", "comedi", "comedi_test"], check=True)
    wait_until(Path("/dev/comedi0").exists, "the board is there")
    yield "/dev/comedi0"
    subprocess.run(["modprobe", "-r", "comedi_test"], check=True)


@pytest.fixture(scope="session")
def ina226() -> Iterator[Ina226]:
    """An INA226 at 0x40, driven by ina2xx-adc."""
    subprocess.run(["modprobe", "i2c-stub", f"chip_addr={ADDRESS}"], check=True)
    subprocess.run(["modprobe", "-a", "i2c-dev", "ina2xx-adc"], check=True)
    bus = wait_until(stub_bus, "the bus is there")
    chip = Ina226(bus.name.removeprefix("i2c-"))
    chip.show(shunt=0, bus=0)
    (bus / "new_device").write_text(f"ina226 {ADDRESS}")
    wait_until(lambda: list(Path("/sys/bus/iio/devices").glob("iio:device*")), "the driver has taken the chip")
    yield chip
    (bus / "delete_device").write_text(ADDRESS)
