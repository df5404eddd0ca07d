# SPDX-License-Identifier: GPL-2.0-or-later
"""From a trace's channels to watts, by the record in its header: docs/uncertainty.md, The model. Pure.

    v = gain * x + zero                     x: raw * scale + offset of the channel over the shunt
    s = supply_gain * y + supply_zero       y: the same of the supply's channel
    P = v / ohm * (divider * s - drop * v)

For looking at: a figure with its uncertainty comes from `happe-power measure`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_contract.strict_json import Json

Floats = "NDArray[np.float64]"
PREFERRED = ("shunt", "current", "power", "energy")
UNKNOWN_DROP = 0.5  # the record does not say on which side of the shunt the supply is measured


class NoWattsError(Exception):
    """The header does not tell watts; the message says why."""


@dataclass(frozen=True)
class Linear:
    """value = raw * scale + zero, of a channel by name and dtype, after its calibration."""

    name: str
    dtype: str
    scale: float
    zero: float

    def of(self, raw: NDArray[np.generic]) -> NDArray[np.float64]:
        """The channel's values."""
        values = raw.astype(np.float64)
        values *= self.scale
        values += self.zero
        return values


@dataclass(frozen=True)
class Rig:
    """The channels that give watts, and the constants of the formula. `steps`: of a counter of joules."""

    channel: Linear
    supply: Linear | None
    ohm: float
    divider: float
    drop: float
    steps: bool
    rate_hz: float

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """Which columns of a part are needed, with their types."""
        return tuple((each.name, each.dtype) for each in (self.channel, self.supply) if each)

    def watts(self, raw: tuple[NDArray[np.generic], ...]) -> NDArray[np.float64]:
        """Watts of a run without a gap. The last sample of a counter has none (NaN)."""
        v = self.channel.of(raw[0])
        if self.steps:
            return np.append(np.diff(v) * self.rate_hz, np.nan)
        s = self.supply.of(raw[1]) * self.divider if self.supply else np.float64(self.divider)
        watts: NDArray[np.float64] = v * (s - self.drop * v)
        watts /= self.ohm
        return watts


def rig_of(header: Json) -> Rig:
    """The rig of a checked header. Raises NoWattsError."""
    record: Json = header["calibration"] or {}
    channel = _preferred(header["channels"])
    kind = channel["measures"]
    supply, ohm, divider, drop = None, 1.0, 1.0, 0.0
    if kind == "shunt":
        ohm, drop = _value(record, "shunt_ohm", "nobody measured the shunt"), _drop(record)
    if kind in {"shunt", "current"}:
        supply = next((each for each in header["channels"] if each["measures"] == "supply"), None)
        if supply is None:
            divider = _value(record, "supply_volt", "the supply is neither measured nor stated")
        elif "divider" in record:
            divider = record["divider"]["value"]
    return Rig(
        _linear(channel, record, steps=kind == "energy"),
        _linear(supply, record, steps=False) if supply else None,
        ohm,
        divider,
        drop,
        kind == "energy",
        float(header["rate_hz"]),
    )


def _preferred(channels: list[Json]) -> Json:
    fit = [each for each in channels if each["measures"] in PREFERRED]
    if not fit:
        raise NoWattsError("no channel gives watts")
    return min(fit, key=lambda each: PREFERRED.index(each["measures"]))


def _value(record: Json, name: str, otherwise: str) -> float:
    if name not in record:
        raise NoWattsError(otherwise)
    return float(record[name]["value"])


def _drop(record: Json) -> float:
    wiring = record.get("wiring")
    if wiring is None:
        return UNKNOWN_DROP
    return 1.0 if wiring["supply_measured"] == "before" else 0.0


def _linear(channel: Json, record: Json, *, steps: bool) -> Linear:
    known: dict[str, Any] = record.get("channels", {}).get(channel["name"], {})
    gain = known["gain"]["value"] if known else 1.0
    zero = known["zero"]["value"] if known and not steps else 0.0
    return Linear(channel["name"], channel["dtype"], gain * channel["scale"], gain * channel["offset"] + zero)
