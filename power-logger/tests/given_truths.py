# SPDX-License-Identifier: GPL-2.0-or-later
"""A calibration record, and a session of a rig that is exactly as the record states.

A session lasts half a minute, sampled at 50 Hz. The load is 1.2 A, from 5.02 s on 2.0 A, with AR(1) noise.
"""

import dataclasses
import datetime as dt
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from happe_contract.calibration import Calibration, Correction, ShuntLine, SupplyTap, Wiring
from happe_contract.cuts import Cut
from happe_contract.measuring.energy import Figure, Interval, measure
from happe_contract.measuring.refusal import Limits
from happe_contract.measuring.zeros import NO_CHECKS, Checks
from happe_contract.rig import Rig, rig_of
from happe_contract.server_time import Part
from happe_contract.traces import Block, Channel, Filter, Measures, Quantity

RATE_HZ = 50.0
SAMPLES = 1500
CUTS_S = (5.0, 25.0)
STEP_S = 5.02
SUPPLY_V, SUPPLY_OHM = 20.0, 0.05
PHI = 0.8  # the coefficient of the noise's AR(1)
NOISE_V = (4e-4, 8e-4)  # the noise of shunt and supply, at the instrument

SHUNT = Channel("shunt", Measures.SHUNT, "V", np.dtype("int16"), 0.5 / 32768, 0.0)
SUPPLY = Channel("supply", Measures.SUPPLY, "V", np.dtype("int16"), 10 / 32768, 0.0)
CHANNELS = (SHUNT, SUPPLY)


def known(value: float, uncertainty: float) -> Quantity:
    """Return a quantity for a record."""
    return Quantity(value, uncertainty, "a test")


MEAN = Filter("a test", mean_s=1 / RATE_HZ, ripple=0.0)
RECORD = Calibration(
    name="rig",
    sha256="0" * 64,
    date=dt.date(2026, 10, 1),
    expires=dt.date(2027, 10, 1),
    shunt_ohm=known(0.1002, 6e-5),
    divider=known(3.01, 1.5e-3),
    wiring=Wiring(ShuntLine.RETURN, SupplyTap.BEFORE),
    channels={
        "shunt": Correction(known(1.0003, 4e-4), known(-2e-5, 4e-5), drift=known(0, 0), filter=MEAN),
        "supply": Correction(known(0.9999, 3e-4), known(1e-3, 1e-3), drift=known(0, 0), filter=MEAN),
    },
)


def stating(**facts: Any) -> Calibration:  # noqa: ANN401 - those of Correction
    """Return the record, with other facts on both channels."""
    channels = {name: dataclasses.replace(each, **facts) for name, each in RECORD.channels.items()}
    return dataclasses.replace(RECORD, channels=channels)


def rig(*channels: Channel, record: Calibration | None = RECORD, name: str | None = None) -> Rig:
    """Return the rig of these channels, by default CHANNELS. It must not be a refusal."""
    made = rig_of(channels or CHANNELS, record, name)
    assert isinstance(made, Rig), made
    return made


def figure(
    made: Rig, of: Interval, blocks: Iterable[Block], checks: Checks = NO_CHECKS, limits: Limits | None = None
) -> Figure:
    """Return a figure. It must not be a refusal."""
    found = measure(made, of, blocks, checks, limits=limits)
    assert isinstance(found, Figure), found
    return found


class Given(NamedTuple):
    """The samples of a session, and the interval that a test measures."""

    block: Block
    interval: Interval


def session(seed: int) -> Given:
    """Return the session with the noise of a seed."""
    rng = np.random.default_rng(seed)
    amperes = np.where(np.arange(SAMPLES) / RATE_HZ < STEP_S, 1.2, 2.0)
    volts = (0.1002 * amperes, (SUPPLY_V - SUPPLY_OHM * amperes) / 3.01)
    columns = []
    for channel, true, each, deviation in zip(CHANNELS, volts, RECORD.channels.values(), NOISE_V, strict=True):
        noise = rng.normal(0, deviation, SAMPLES)
        for i in range(1, SAMPLES):
            noise[i] = PHI * noise[i - 1] + np.sqrt(1 - PHI**2) * noise[i]
        columns.append(np.rint(((true - each.zero.value) / each.gain.value + noise) / channel.scale).astype(np.int16))
    clock = (Part("clock", "clock", 1.0, 4000.0, "a test"),)
    cuts = (Cut(round(second * 1e6), second * RATE_HZ, clock) for second in CUTS_S)
    return Given(Block(0, tuple(columns)), Interval("trace", *cuts))
