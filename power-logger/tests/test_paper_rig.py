# SPDX-License-Identifier: GPL-2.0-or-later
"""The budgets of docs/uncertainty.md: two minutes at 40 W on the paper's rig, calibrated to three degrees.

    export PYTHONPATH=profiles/python/src:power-logger/src:power-logger/tests
    build/venv/bin/python power-logger/tests/test_paper_rig.py

prints them. If we know only a limit +-a, we assume a rectangular
distribution: u = a / sqrt(3) (GUM 4.3.7). The limits are assumptions for instruments of this kind, not those of a
datasheet.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

import given_truths
from happe_contract.calibration import Calibration, Correction, ShuntLine, SupplyTap, Wiring
from happe_contract.cuts import Cut
from happe_contract.measuring.energy import Interval
from happe_contract.server_time import Part
from happe_contract.traces import Block, Channel, Filter, Measures, Quantity
from happe_power.cli.measure import print_budget, with_uncertainty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_contract.measuring.energy import Figure

RATE_HZ, SECONDS = 1000, 120
AMPERES, SUPPLY_V, OHM = 2.02, 20.0, 0.1  # 40 W in the laptop, 0.4 W in the shunt
FILTER = Filter("two RC stages at the input", 16.0, 2, ripple=0.005)
SHUNT = Channel("shunt", Measures.SHUNT, "V", np.dtype("int16"), 0.5 / 32768, 0.0, filter=FILTER)
SUPPLY = Channel("supply", Measures.SUPPLY, "V", np.dtype("int16"), 10 / 32768, 0.0, filter=FILTER)
CLOCK_US = 10_000.0


def limits(value: float, limit: float, source: str) -> Quantity:
    """Return a value with known limits."""
    return Quantity(value, limit / math.sqrt(3), source)


def channel(gain: float, zero: float, noise: float) -> Correction:
    """Return a correction with limits of gain and zero, and with the noise that a check of many samples found."""
    return Correction(
        limits(1, gain, f"limits {100 * gain:g} %"),
        limits(0, zero, f"limits {1e6 * zero:g} uV"),
        Quantity(noise, noise / 20, "zero check"),
        drift=limits(0, zero, f"limits {1e6 * zero:g} uV in a session"),
    )


CALIBRATED = Calibration(
    name="the paper's rig",
    sha256="0" * 64,
    date=dt.date(2026, 1, 1),
    expires=dt.date(2027, 1, 1),
    shunt_ohm=limits(OHM, 1e-3 * OHM, "limits 0.1 %"),
    divider=limits(4, 4e-3, "limits 0.1 %"),
    wiring=Wiring(ShuntLine.RETURN, SupplyTap.BEFORE),
    channels={"shunt": channel(1e-3, 20e-6, 30e-6), "supply": channel(5e-4, 500e-6, 300e-6)},
)
MEASURED = dataclasses.replace(CALIBRATED, shunt_ohm=limits(OHM, 1e-2 * OHM, "limits 1 %"))
NOMINAL = dataclasses.replace(MEASURED, divider=None, supply_volt=limits(SUPPLY_V, 1.0, "limits 5 %, on its label"))

RIGS: Sequence[tuple[str, Calibration, tuple[Channel, ...]]] = (
    ("nominal supply", NOMINAL, (SHUNT,)),
    ("measured supply", MEASURED, (SHUNT, SUPPLY)),
    ("calibrated shunt", CALIBRATED, (SHUNT, SUPPLY)),
)


def figure(record: Calibration, channels: tuple[Channel, ...]) -> Figure:
    """Return the figure of two minutes. Before them the laptop took 25 W less. The cuts are good to 10 ms."""
    rng = np.random.default_rng(1)
    count = (SECONDS + 2) * RATE_HZ
    seconds = np.arange(count) / RATE_HZ - 1
    amperes = np.where(seconds < 0, AMPERES - 25 / SUPPLY_V, AMPERES)
    volts = (amperes * OHM + rng.normal(0, 30e-6, count), SUPPLY_V / 4 + rng.normal(0, 300e-6, count))
    raw = tuple(
        np.rint(each / of.scale).astype(np.int16) for each, of in zip(volts[: len(channels)], channels, strict=True)
    )
    part = (Part("clock", "clock at the cuts", 1.0, CLOCK_US, "bound 10 ms"),)
    cuts = (Cut(round(at * 1e6), at * RATE_HZ, part) for at in (1, 1 + SECONDS))
    return given_truths.figure(given_truths.rig(*channels, record=record), Interval("trace", *cuts), [Block(0, raw)])


@pytest.mark.parametrize(
    ("which", "expanded", "told"),
    [(0, 2.4, "nominal supply"), (1, 0.5, "measured supply"), (2, 0.1, "calibrated shunt")],
)
def test_forty_watts_are_known_as_well_as_the_page_says(which: int, expanded: float, told: str) -> None:
    name, record, channels = RIGS[which]
    found = figure(record, channels)
    assert name == told
    assert found.mean_w == pytest.approx(40, abs=0.02)
    assert round(found.budget.expanded, 1) == expanded


def main() -> None:
    """Print the budgets of all rigs."""
    for name, record, channels in RIGS:
        found = figure(record, channels)
        print(f"{name}: {with_uncertainty(found.mean_w, found.budget.expanded)} W")
        print_budget(found.budget, "W")
        print()


if __name__ == "__main__":
    main()
