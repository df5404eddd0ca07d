# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibration records: what was measured of a rig, when, and how well. Pure: bytes in, text out.

The file is TOML; docs/uncertainty.md has one. What a trace's header takes along of it is
profiles/schema/power-trace.schema.json, calibration. Nothing here has a default for a resistance.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import tomlkit
import tomlkit.items

from happe_power import toml_fields
from happe_power.model import Quantity
from happe_power.toml_fields import Fields, TomlFileError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "NOT_MEASURED",
    "Calibration",
    "Correction",
    "ShuntLine",
    "Standing",
    "TomlFileError",
    "Wiring",
    "from_header",
    "parse",
    "standing",
]

NOT_MEASURED = Quantity(1.0, 0.0, "1: not measured")  # a gain in a record of zeros alone
CHANNEL = re.compile(r"[a-z][a-z0-9_]{0,31}")
QUANTITIES = ("shunt_ohm", "divider", "supply_volt")
MOST_TEXT = 200  # characters, as in the header's schema


class ShuntLine(StrEnum):
    """Where the shunt is. In the return line its voltage is near the instrument's ground."""

    RETURN = "return"
    SUPPLY = "supply"


class SupplyTap(StrEnum):
    """Where the supply voltage is measured: with the shunt's own drop in it, or without."""

    BEFORE = "before"  # at the power supply's side: the laptop has the shunt's drop less
    AFTER = "after"  # at the laptop's side


@dataclass(frozen=True)
class Wiring:
    """How shunt and supply are wired (docs/uncertainty.md, The model)."""

    shunt: ShuntLine
    supply_measured: SupplyTap


@dataclass(frozen=True)
class Correction:
    """true = value * gain + zero, in the channel's unit.

    `noise` is the instrument's alone, as a long-run standard deviation of `value`: a mean of n samples scatters by
    noise / sqrt(n). None: it was not measured.
    """

    gain: Quantity
    zero: Quantity
    noise: Quantity | None = None


@dataclass(frozen=True)
class Calibration:
    """A record. What is None is not there or was not measured.

    `supply_volt` is a supply voltage that no channel measures. `sha256` is of the file, byte for byte; `expires` is
    the first day on which the record no longer holds.
    """

    name: str
    sha256: str
    date: dt.date
    expires: dt.date
    shunt_ohm: Quantity | None = None
    divider: Quantity | None = None
    supply_volt: Quantity | None = None
    wiring: Wiring | None = None
    channels: Mapping[str, Correction] = field(default_factory=dict)

    def to_header(self) -> dict[str, Any]:
        """The header's calibration object."""
        shown: dict[str, Any] = {
            "name": self.name,
            "sha256": self.sha256,
            "date": self.date.isoformat(),
            "expires": self.expires.isoformat(),
        }
        shown |= {name: _shown(each) for name in QUANTITIES if (each := getattr(self, name))}
        if self.wiring:
            shown["wiring"] = {name: str(value) for name, value in vars(self.wiring).items()}
        if self.channels:
            shown["channels"] = {name: _parts(each) for name, each in self.channels.items()}
        return shown


class Standing(StrEnum):
    """What a record is worth on a day."""

    GOOD = "good"
    MISSING = "missing"
    EXPIRED = "expired"
    FUTURE = "future"


def standing(calibration: Calibration | None, day: dt.date) -> tuple[Standing, str]:
    """Whether a record holds on a day, and the sentence that stands on every figure of that day."""
    if calibration is None:
        return Standing.MISSING, "NO CALIBRATION: the instrument's own errors are not in the uncertainty"
    if day >= calibration.expires:
        return Standing.EXPIRED, f"calibration {calibration.name} EXPIRED on {calibration.expires}"
    if day < calibration.date:
        return Standing.FUTURE, f"calibration {calibration.name} is LATER than the measurement: of {calibration.date}"
    return Standing.GOOD, f"calibration {calibration.name} of {calibration.date}, until {calibration.expires}"


def from_header(document: Mapping[str, Any] | None) -> Calibration | None:
    """The record that a trace's header has, which fits its schema."""
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
        channels={
            name: Correction(**{part: Quantity(**quantity) for part, quantity in each.items()})
            for name, each in document.get("channels", {}).items()
        },
    )


def parse(content: bytes, file: str) -> Calibration:
    """The record in a file's bytes. Raises TomlFileError with everything that is wrong, as `FILE:LINE: FIELD: WHY`."""
    top = toml_fields.read(content, file)
    made = Calibration(
        name=top.text("name", MOST_TEXT),
        sha256=hashlib.sha256(content).hexdigest(),
        date=top.date("date"),
        expires=top.date("expires"),
        shunt_ohm=_quantity(top, "shunt_ohm", positive=True),
        divider=_quantity(top, "divider", positive=True),
        supply_volt=_quantity(top, "supply_volt", positive=True),
        wiring=_wiring(top.table("wiring")),
        channels=_corrections(top.table("channels")),
    )
    if not top.mistakes and made.expires <= made.date:
        top.mistake("expires", "must be after date")
    top.finish()
    return made


def to_toml(record: Calibration) -> str:
    """A record as a file, which `parse` reads; its digest is of these bytes, so `sha256` is not in it."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment(
            "A calibration record of happe-power. Each standard_uncertainty is one standard uncertainty (k = 1)."
        )
    )
    document.update({"name": record.name, "date": record.date, "expires": record.expires})
    if record.wiring:
        document.add("wiring", _table(vars(record.wiring)))
    for name in QUANTITIES:
        if quantity := getattr(record, name):
            document.add(name, _table(_shown(quantity)))
    if record.channels:
        channels = tomlkit.table(is_super_table=True)
        for name, each in record.channels.items():
            channel = tomlkit.table(is_super_table=True)
            channel.update({part: _table(shown) for part, shown in _parts(each).items()})
            channels.add(name, channel)
        document.add("channels", channels)
    return tomlkit.dumps(document)


def _parts(correction: Correction) -> dict[str, Any]:
    return {part: _shown(quantity) for part, quantity in vars(correction).items() if quantity}


def _table(values: Mapping[str, Any]) -> tomlkit.items.Table:
    table = tomlkit.table()
    table.update({name: str(value) if isinstance(value, StrEnum) else value for name, value in values.items()})
    return table


def _quantity(fields: Fields, name: str, *, positive: bool = False) -> Quantity | None:
    table = fields.table(name)
    if table is None:
        return None
    made = Quantity(
        table.number("value"), table.number("standard_uncertainty", least=0), table.text("source", MOST_TEXT)
    )
    if positive and made.value <= 0:
        table.mistake("value", "must be more than 0")
    table.no_more()
    return made


def _wiring(table: Fields | None) -> Wiring | None:
    if table is None:
        return None
    shunt = table.choice("shunt", tuple(ShuntLine))
    tap = table.choice("supply_measured", tuple(SupplyTap))
    table.no_more()
    return Wiring(ShuntLine(shunt), SupplyTap(tap))


NOTHING = Quantity(1, 0, "")


def _corrections(tables: Fields | None) -> dict[str, Correction]:
    made: dict[str, Correction] = {}
    for name, table in tables.tables() if tables else ():
        if not CHANNEL.fullmatch(name):
            table.mistake("", "is no channel's name: these have a-z, 0-9 and _, and begin with a letter")
        made[name] = Correction(_needed(table, "gain"), _needed(table, "zero"), _quantity(table, "noise"))
        table.no_more()
    return made


def _needed(table: Fields, name: str) -> Quantity:
    found = _quantity(table, name, positive=name == "gain")
    if found is None:
        table.mistake(name, "is missing")
        return NOTHING
    return found


def _shown(quantity: Quantity) -> dict[str, Any]:
    return {
        "value": quantity.value,
        "standard_uncertainty": quantity.standard_uncertainty,
        "source": quantity.source,
    }
