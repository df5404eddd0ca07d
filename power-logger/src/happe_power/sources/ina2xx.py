# SPDX-License-Identifier: GPL-2.0-or-later
"""The ranges and signs of an INA2xx's channels. Pure.

Data sheets: TI SBOS448 (INA219; INA220 is the same), SBOS547 (INA226; INA230 and INA231 are). Names and gains are those
of the driver, drivers/iio/adc/ina2xx-adc.c. The basis of its channels of current and power differs between kernels,
so their ends are unknown.
"""

from __future__ import annotations

INA219, INA226 = ("ina219", "ina220"), ("ina226", "ina230", "ina231")  # a suffix may follow: ina226-3-004a
SHUNT, BUS, CURRENT = "voltage0", "voltage1", "current3"

Ends = tuple[float | None, float | None]


def ends(chip: str, channel: str, scale: float, gain: float | None) -> Ends | None:
    """The raw values at which a channel of `scale` volts per count saturates; None if they are unknown.

    `gain` is the channel's hardwaregain, if the driver has one. 0 V is no end: a bus without a supply reads 0 V.
    """
    if channel not in (SHUNT, BUS) or not chip.startswith((*INA219, *INA226)):
        return None
    if chip.startswith(INA226):
        return (-0x8000, 0x7FFF) if channel == SHUNT else (None, 0x7FFF)
    if channel == SHUNT:
        most = round(0.04 / scale / (gain or 0.125))  # the driver begins with the widest range, 0.32 V
        return -most, most
    return None, round(32 / scale / (gain or 1))


def has_sign(chip: str, channel: str) -> bool:
    """Whether a channel surely has a sign. The driver wrongly calls every channel of its buffer unsigned."""
    return channel in (SHUNT, CURRENT) and chip.startswith((*INA219, *INA226))
