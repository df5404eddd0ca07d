# SPDX-License-Identifier: GPL-2.0-or-later
"""The firmware's readings: the highest P-state allowed, the mains, the battery, boost (t61.asl, per_cpu_table.py)."""

import mmap
import os
from enum import IntEnum
from pathlib import Path

MAILBOX = 0xFF000000
BELL = 0x18
BELL_DEVICES = "TEST0001:*/status"


class Reading(IntEnum):
    """A reading's place in the mailbox."""

    LIMIT = 0x00  # P-state: 0 (2.3 GHz) to 4 (0.8 GHz)
    MAINS = 0x04  # 1: plugged in
    BATTERY = 0x08  # 1 discharging, 2 charging, 4 critical
    WITHOUT_BOOST = 0x1C  # 1: no 2.3 GHz, for processors that come on line later; only with a policy for each processor


NOTIFY = {Reading.LIMIT: 1, Reading.MAINS: 2}  # the others are the battery's
NOTIFY_BATTERY = 4


def platform_says(readings: dict[Reading, int]) -> None:
    """Change readings, and let the firmware tell the drivers."""
    memory = os.open("/dev/mem", os.O_RDWR | os.O_SYNC)
    try:
        with mmap.mmap(memory, mmap.PAGESIZE, offset=MAILBOX) as page, memoryview(page).cast("I") as mailbox:
            for reading, value in readings.items():
                mailbox[reading // 4] = value
                mailbox[BELL // 4] |= NOTIFY.get(reading, NOTIFY_BATTERY)
    finally:
        os.close(memory)
    for status in Path("/sys/bus/acpi/devices").glob(BELL_DEVICES):
        status.read_text()


def limit(p_state: int) -> None:
    """Allow no P-state above this one; 0 lifts the limit."""
    platform_says({Reading.LIMIT: p_state})


def mains(*, plugged_in: bool) -> None:
    """Plug the adapter in or out; the battery charges or discharges."""
    platform_says({Reading.MAINS: int(plugged_in), Reading.BATTERY: 2 if plugged_in else 1})
