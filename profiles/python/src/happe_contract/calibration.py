# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibration records, as in a trace's header: the measured values of a rig, with their date and uncertainty.

Their schema is profiles/schema/power-trace.schema.json, calibration. No resistance has a default.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from happe_contract.traces import Filter, Quantity, stated

NOT_MEASURED = Quantity(1.0, 0.0, "1: not measured")  # a gain in a record of zeros alone
QUANTITIES = ("shunt_ohm", "divider", "supply_volt")


class ShuntLine(StrEnum):
    """The line that the shunt is in. In the return line, the shunt's voltage is near the instrument's ground."""

    RETURN = "return"
    SUPPLY = "supply"


class SupplyTap(StrEnum):
    """The side of the shunt on which the supply voltage is measured: with the shunt's drop in it, or without."""

    BEFORE = "before"  # at the power supply's side: the laptop gets less, by the shunt's drop
    AFTER = "after"  # at the laptop's side


@dataclass(frozen=True)
class Wiring:
    """How shunt and supply are wired (docs/uncertainty.md, The model)."""

    shunt: ShuntLine
    supply_measured: SupplyTap


@dataclass(frozen=True)
class Correction:
    """true = value * gain + zero, in the channel's unit.

    `noise` is that of the instrument alone, as a long-run standard deviation of `value`: a mean of n samples scatters
    by noise / sqrt(n). `flicker` is the floor of its Allan deviation: no longer mean gets below it. `drift` is the
    change of the zero in a session: 0 with an uncertainty. `resolution` is the step of its values. `filter` smooths the
    signal before the sampling. None: it was not measured, or is not stated.
    """

    gain: Quantity
    zero: Quantity
    noise: Quantity | None = None
    flicker: Quantity | None = None
    drift: Quantity | None = None
    resolution: Quantity | None = None
    filter: Filter | None = None


@dataclass(frozen=True)
class Calibration:
    """A calibration record. None stands for values that are missing or not measured.

    `supply_volt` is a supply voltage that no channel measures. `sha256` is the digest of the file; `expires` is
    the first day on which the record no longer holds.
    """

    name: str
    sha256: str
    date: dt.date
    expires: dt.date
    wiring: Wiring | None = None
    shunt_ohm: Quantity | None = None
    divider: Quantity | None = None
    supply_volt: Quantity | None = None
    channels: Mapping[str, Correction] = field(default_factory=dict)

    def to_header(self) -> dict[str, Any]:
        """The header's calibration object."""
        shown = stated(self)
        return shown if self.channels else {name: value for name, value in shown.items() if name != "channels"}


def from_header(document: Mapping[str, Any] | None) -> Calibration | None:
    """The record in a trace's header, which fits its schema; None if the header has none."""
    if document is None:
        return None
    wiring = document.get("wiring")
    return Calibration(
        name=document["name"],
        sha256=document["sha256"],
        date=dt.date.fromisoformat(document["date"]),
        expires=dt.date.fromisoformat(document["expires"]),
        **{name: Quantity(**document[name]) for name in QUANTITIES if name in document},
        wiring=Wiring(ShuntLine(wiring["shunt"]), SupplyTap(wiring["supply_measured"])) if wiring else None,
        channels={name: _correction(each) for name, each in document.get("channels", {}).items()},
    )


def _correction(document: Mapping[str, Any]) -> Correction:
    quantities = {part: Quantity(**said) for part, said in document.items() if part != "filter"}
    return Correction(**quantities, filter=Filter(**document["filter"]) if "filter" in document else None)


class Standing(StrEnum):
    """Whether a record holds on a day, or why it does not."""

    GOOD = "good"
    MISSING = "missing"
    EXPIRED = "expired"
    FUTURE = "future"


def standing(calibration: Calibration | None, day: dt.date) -> tuple[Standing, str]:
    """Whether a record holds on a day, and the note for every figure of that day."""
    if calibration is None:
        return Standing.MISSING, "NO CALIBRATION: the instrument's own errors are not in the uncertainty"
    if day >= calibration.expires:
        return Standing.EXPIRED, f"calibration {calibration.name} EXPIRED on {calibration.expires}"
    if day < calibration.date:
        return Standing.FUTURE, f"calibration {calibration.name} was made AFTER the measurement, on {calibration.date}"
    return Standing.GOOD, f"calibration {calibration.name} of {calibration.date}, until {calibration.expires}"
