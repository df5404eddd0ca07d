# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibrates a rig by two readings: without a load, and with a resistor in the laptop's place.

The resistor carries I = U / r, where U is the voltage over it by a multimeter. The difference of a channel's two
readings gives the shunt's resistance, the divider's ratio, or the gain of a channel in amperes or watts. Shunt and
divider are measured through their channels, so they include the gains of these.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from happe_contract.calibration import NOT_MEASURED, Correction, SupplyTap, Wiring
from happe_contract.measuring.zeros import ZeroReading
from happe_contract.traces import Channel, Measures, Quantity

ELSEWHERE = {
    Measures.SHUNT: "1: its error is in shunt_ohm, measured through this channel",
    Measures.SUPPLY: "1: its error is in divider, measured through this channel",
}
MOST_ZERO = 0.2  # as a share of the load's contribution; a higher reading means that somebody left a supply on
LEAST_RATIO = 100.0  # a reading under load must be at least this many times its own standard uncertainty


class Load(NamedTuple):
    """The resistor in ohm and the voltage over it in volts."""

    ohm: Quantity
    volt: Quantity


class Readings(NamedTuple):
    """The readings of a channel without a load and, if measured, with the load."""

    channel: Channel
    zero: ZeroReading
    load: ZeroReading | None


class Outcome(NamedTuple):
    """The values for a calibration record."""

    shunt_ohm: Quantity | None
    divider: Quantity | None
    channels: dict[str, Correction]


class LoadError(ValueError):
    """The readings do not fit the load; the message says why."""


def outcome(readings: Sequence[Readings], load: Load | None, wiring: Wiring | None) -> Outcome:
    """Compute the calibration from readings and load. Raises LoadError."""
    shunt_ohm = divider = drop = None
    corrections = {}
    for each in readings:
        if each.channel.measures is Measures.ENERGY:
            raise LoadError(f"{each.channel.name} counts energy: it has no zero to measure")
        corrections[each.channel.name] = _corrected(each, load)
        if load and each.load and each.channel.measures is Measures.SHUNT:
            drop = each.load.mean - each.zero.mean
            shunt_ohm = _shunt(each, load)
    for each in readings:
        if load and each.load and each.channel.measures is Measures.SUPPLY:
            before = wiring is not None and wiring.supply_measured is SupplyTap.BEFORE
            divider = _divider(each, load, drop if before and drop is not None else 0.0)
    return Outcome(shunt_ohm, divider, corrections)


def _corrected(each: Readings, load: Load | None) -> Correction:
    gain = _gain(each, load) if load and each.load else NOT_MEASURED
    zero = -gain.value * each.zero.mean
    how = f"zero check of {each.zero.samples} samples"
    noise = Quantity(each.zero.noise, each.zero.noise / math.sqrt(2 * each.zero.dof), how)  # GUM G.4.2, equation G.3
    low = each.zero.flicker
    flicker = Quantity(low, low / math.sqrt(2 * each.zero.flicker_dof), f"Allan deviation, {how}") if low else None
    known_zero = Quantity(zero, abs(gain.value) * each.zero.standard_uncertainty, how)
    return Correction(gain, known_zero, noise, flicker, filter=each.channel.filter)


def _stands_out(each: Readings) -> tuple[float, float]:
    """The load's contribution to a reading, and its relative standard uncertainty. Raises LoadError."""
    assert each.load is not None  # noqa: S101 - callers have checked
    added = each.load.mean - each.zero.mean
    uncertainty = math.hypot(each.load.standard_uncertainty, each.zero.standard_uncertainty)
    if added <= LEAST_RATIO * uncertainty:
        raise LoadError(
            f"{each.channel.name} reads {each.load.mean:.4g} {each.channel.unit} under load and {each.zero.mean:.4g} "
            f"without: the load is missing, or its poles are swapped"
        )
    if abs(each.zero.mean) > MOST_ZERO * added:
        raise LoadError(
            f"{each.channel.name} reads {each.zero.mean:.4g} {each.channel.unit} without load and {each.load.mean:.4g} "
            "under load: its input was not shorted"
        )
    return added, uncertainty / added


def _relative(quantity: Quantity) -> float:
    return quantity.standard_uncertainty / quantity.value


def _shunt(each: Readings, load: Load) -> Quantity:
    """R = v r / U. For the uncertainty of U see `_divider`."""
    volts, relative = _stands_out(each)
    ohm = volts * load.ohm.value / load.volt.value
    relative = math.hypot(relative, _relative(load.ohm), math.sqrt(2) * _relative(load.volt))
    return Quantity(ohm, ohm * relative, _source(load))


def _divider(each: Readings, load: Load, drop: float) -> Quantity:
    """Ratio = (U + drop) / s.

    Power grows with ratio / R and so with U squared: it has twice U's relative uncertainty. A record has no
    covariances, so shunt and divider each get sqrt(2) times U's: right for the power, too large for each alone.
    """
    volts, relative = _stands_out(each)
    ratio = (load.volt.value + drop) / volts
    return Quantity(ratio, ratio * math.hypot(relative, math.sqrt(2) * _relative(load.volt)), _source(load))


def _gain(each: Readings, load: Load) -> Quantity:
    """True units per unit that a channel of amperes (I = U / r) or watts (P = U U / r) shows. See ELSEWHERE."""
    if each.channel.measures in ELSEWHERE:
        return Quantity(1.0, 0.0, ELSEWHERE[each.channel.measures])
    added, relative = _stands_out(each)
    volts = 1 if each.channel.measures is Measures.CURRENT else 2
    true = load.volt.value**volts / load.ohm.value
    relative = math.hypot(relative, _relative(load.ohm), volts * _relative(load.volt))
    return Quantity(true / added, true / added * relative, _source(load))


def _source(load: Load) -> str:
    return f"known load: {load.ohm.source}; {load.volt.source}"[:200]
