# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts a trace's channels to watts, by the calibration record in its header: docs/uncertainty.md, The model. Pure.

    v = gain * x + zero                     x: raw * scale + offset of the channel over the shunt
    s = supply_gain * y + supply_zero       y: the same of the supply's channel
    P = v / ohm * (divider * s - drop * v)  power into the laptop

`drop` is 1 if the supply's voltage is measured before the shunt: then it includes the shunt's own drop, which never
reaches the laptop. `drop` is 0 if it is measured after. A shunt in the return line changes nothing. If the record does
not say which, drop is a half with a standard uncertainty of a half (GUM 4.3.7, two equally likely values).

Other kinds of channels use the same formula with constants: a current has ohm = 1 and drop = 0; a supply that is only
stated has y = 1 and its voltage as divider; a power channel and the steps of an energy counter have y = 1, too.
P consists of v*s and v*v, so the means of x, y, x*x and x*y over an interval give its mean and the mean's derivatives
exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_contract.calibration import NOT_MEASURED, Calibration, Correction, SupplyTap
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.strict_json import Json
from happe_contract.traces import Channel, Filter, Measures, Quantity

ONE = Quantity(1.0, 0.0, "exact")
NONE = Quantity(0.0, 0.0, "exact")
UNKNOWN_DROP = Quantity(0.5, 0.5, "the record does not say on which side of the shunt the supply is measured")
PREFERRED = (Measures.SHUNT, Measures.POWER, Measures.CURRENT, Measures.ENERGY)


class Moments(NamedTuple):
    """Means of x, y, x*x and x*y."""

    x: float
    y: float
    xx: float
    xy: float


@dataclass(frozen=True)
class Input:
    """One input of the formula. Two results share an input if its key is the same."""

    key: str
    name: str
    unit: str
    quantity: Quantity

    @property
    def value(self) -> float:
        """The best estimate."""
        return self.quantity.value


@dataclass(frozen=True)
class Rig:
    """The channels that give watts, by their columns, and the inputs of the formula. `corrections` are by channel."""

    channel: Channel
    column: int
    supply: Channel | None
    supply_column: int | None
    gain: Input
    zero: Input
    supply_gain: Input
    supply_zero: Input
    divider: Input
    ohm: Input
    drop: Input
    corrections: Mapping[str, Correction]
    notes: tuple[str, ...]

    def power(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Watts at each sample, from the values at the input; `y` may be a single value for all."""
        v = self.gain.value * x
        v += self.zero.value
        s = self.divider.value * (self.supply_gain.value * y + self.supply_zero.value)
        watts: NDArray[np.float64] = s - self.drop.value * v
        watts *= v
        watts /= self.ohm.value
        return watts

    def mean(self, of: Moments) -> float:
        """The mean power in watts over the interval of these moments."""
        _, _, vv, vs = self._means(of)
        return (self.divider.value * vs - self.drop.value * vv) / self.ohm.value

    def _means(self, of: Moments) -> tuple[float, float, float, float]:
        """Means of v, s, v*v and v*s."""
        g, z = self.gain.value, self.zero.value
        sg, sz = self.supply_gain.value, self.supply_zero.value
        v, s = g * of.x + z, sg * of.y + sz
        vv = g * g * of.xx + 2 * g * z * of.x + z * z
        vs = g * sg * of.xy + g * sz * of.x + z * sg * of.y + z * sz
        return v, s, vv, vs

    def derivatives(self, of: Moments) -> Iterator[tuple[Input, float]]:
        """Yield each input, and the change of the mean in watts per unit of it (GUM 5.1.3), derived by hand."""
        g, z, sg, sz = self.gain.value, self.zero.value, self.supply_gain.value, self.supply_zero.value
        ohm, divider, drop = self.ohm.value, self.divider.value, self.drop.value
        v, s, vv, vs = self._means(of)
        xs, xv = sg * of.xy + sz * of.x, g * of.xx + z * of.x
        vy = g * of.xy + z * of.y
        yield self.ohm, -(divider * vs - drop * vv) / ohm**2
        yield self.divider, vs / ohm
        yield self.drop, -vv / ohm
        yield self.gain, (divider * xs - 2 * drop * xv) / ohm
        yield self.zero, (divider * s - 2 * drop * v) / ohm
        yield self.supply_gain, divider * vy / ohm
        yield self.supply_zero, divider * v / ohm


def values(channel: Channel, raw: NDArray[np.generic]) -> NDArray[np.float64]:
    """Convert raw counts to the channel's unit at the input."""
    read = raw.astype(np.float64)
    read *= channel.scale
    read += channel.offset
    return read


def channels_of(header: Json) -> tuple[Channel, ...]:
    """The channels of a trace's header, which fits its schema. Their ends of range are unknown."""
    return tuple(
        Channel(
            each["name"],
            Measures(each["measures"]),
            each["unit"],
            np.dtype(each["dtype"]),
            float(each["scale"]),
            float(each["offset"]),
            filter=Filter(**each["filter"]) if "filter" in each else None,
            resolution=each.get("resolution"),
        )
        for each in header["channels"]
    )


def rig_of(channels: Sequence[Channel], calibration: Calibration | None, name: str | None = None) -> Rig | Refusal:
    """The rig of a trace's channels. `name` picks a channel; without it, a shunt comes before other kinds."""
    picked = _picked(channels, name)
    if picked is None:
        asked = f"no channel {name} that gives watts" if name else "no channel gives watts"
        there = ", ".join(f"{each.name} ({each.measures})" for each in channels)
        return Refusal(Why.NO_CHANNEL, f"{asked}; there are {there}")
    channel = channels[picked]
    if channel.measures is Measures.SHUNT and (calibration is None or calibration.shunt_ohm is None):
        lacking = "no measured resistance of the shunt, and no part number gives one; `happe-power calibrate`"
        return Refusal(Why.NO_SHUNT, lacking)
    if channel.measures in (Measures.POWER, Measures.ENERGY):
        return _assembled(channels, picked, None, calibration)
    second = next((i for i, each in enumerate(channels) if each.measures is Measures.SUPPLY), None)
    if second is None and (calibration is None or calibration.supply_volt is None):
        lacking = "no channel measures the supply and the record in use states no `supply_volt` (--calibration)"
        return Refusal(Why.NO_SUPPLY, lacking)
    return _assembled(channels, picked, second, calibration)


def _picked(channels: Sequence[Channel], name: str | None) -> int | None:
    order = {measures: rank for rank, measures in enumerate(PREFERRED)}
    fit = [i for i, each in enumerate(channels) if each.measures in order and name in (None, each.name)]
    return min(fit, key=lambda i: order[channels[i].measures], default=None)


def _assembled(channels: Sequence[Channel], first: int, second: int | None, calibration: Calibration | None) -> Rig:
    inputs = _Inputs(calibration)
    channel, supply = channels[first], None if second is None else channels[second]
    gain, zero = inputs.correction(channel)
    supply_gain, supply_zero = inputs.correction(supply) if supply else (inputs.exact(ONE), inputs.exact(NONE))
    return Rig(
        channel,
        first,
        supply,
        second,
        gain,
        zero,
        supply_gain,
        supply_zero,
        inputs.divider(channel, supply),
        inputs.ohm(channel),
        inputs.drop(channel),
        calibration.channels if calibration else {},
        tuple(inputs.notes),
    )


class _Inputs:
    """Takes the formula's inputs from a record, and notes what the record lacks."""

    def __init__(self, calibration: Calibration | None) -> None:
        self._record = calibration
        self._of = calibration.sha256 if calibration else "none"
        self.notes: list[str] = []

    def exact(self, quantity: Quantity, name: str = "constant") -> Input:
        return Input(f"exact/{name}", name, "", quantity)

    def correction(self, channel: Channel) -> tuple[Input, Input]:
        known = self._record.channels.get(channel.name) if self._record else None
        if known is None:
            self.notes.append(f"{channel.name}: gain and zero were not measured and are not in the uncertainty")
        elif known.gain == NOT_MEASURED:
            self.notes.append(f"{channel.name}: gain was not measured and is not in the uncertainty")
        gain, zero = (known.gain, known.zero) if known else (ONE, NONE)
        if channel.measures is Measures.ENERGY:
            zero = NONE  # the difference of two readings has no zero
        return (
            self._input(f"gain/{channel.name}", f"gain of {channel.name}", "1", gain),
            self._input(f"zero/{channel.name}", f"zero of {channel.name}", channel.unit, zero),
        )

    def ohm(self, channel: Channel) -> Input:
        if channel.measures is Measures.SHUNT and self._record and self._record.shunt_ohm:
            return self._input("shunt_ohm", "shunt", "ohm", self._record.shunt_ohm)
        return self.exact(ONE, "ohm")

    def divider(self, channel: Channel, supply: Channel | None) -> Input:
        if supply is not None and self._record and self._record.divider:
            return self._input("divider", "divider", "1", self._record.divider)
        if supply is None and channel.measures in (Measures.SHUNT, Measures.CURRENT) and self._record:
            if self._record.supply_volt is None:
                raise AssertionError("rig_of has refused this")
            self.notes.append("the supply's voltage is stated, not measured")
            return self._input("supply_volt", "supply, as stated", "V", self._record.supply_volt)
        return self.exact(ONE, "divider")

    def drop(self, channel: Channel) -> Input:
        if channel.measures is not Measures.SHUNT or self._record is None:
            return self.exact(NONE, "drop")
        if self._record.wiring is None:
            self.notes.append(f"{UNKNOWN_DROP.source}: the figure subtracts half of the shunt's drop (--calibration)")
            return self._input("drop", "side of the supply's tap", "1", UNKNOWN_DROP)
        before = self._record.wiring.supply_measured is SupplyTap.BEFORE
        return self.exact(ONE if before else NONE, "drop")

    def _input(self, key: str, name: str, unit: str, quantity: Quantity) -> Input:
        return Input(f"{self._of}/{key}", name, unit, quantity)
