# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibration records as TOML files, and what a record is worth on a day. Pure: bytes in, text out.

docs/uncertainty.md has a file. The record itself is happe_contract.calibration.
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import tomlkit
import tomlkit.items

from happe_contract.calibration import (
    QUANTITIES,
    Calibration,
    Correction,
    ShuntLine,
    SupplyTap,
    Wiring,
    as_json,
    parts_of,
)
from happe_contract.traces import Quantity
from happe_power import toml_fields

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from happe_power.toml_fields import Fields

CHANNEL = re.compile(r"[a-z][a-z0-9_]{0,31}")
MOST_TEXT = 200  # characters, as in the header's schema


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
            document.add(name, _table(as_json(quantity)))
    if record.channels:
        channels = tomlkit.table(is_super_table=True)
        for name, each in record.channels.items():
            channel = tomlkit.table(is_super_table=True)
            channel.update({part: _table(values) for part, values in parts_of(each).items()})
            channels.add(name, channel)
        document.add("channels", channels)
    return tomlkit.dumps(document)


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
