# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and writes calibration records as TOML files, which people also write by hand. Pure: bytes in, text out.

docs/calibration.md has an example. The record itself is happe_contract.calibration.
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
from happe_contract.traces import Filter, Quantity
from happe_power import toml_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from happe_power.toml_fields import Fields

CHANNEL = re.compile(r"[a-z][a-z0-9_]{0,31}")
MOST_TEXT = 200  # characters, as in the header's schema


def parse(content: bytes, file: str) -> Calibration:
    """The record in a file's bytes. Raises TomlFileError with every mistake, as `FILE:LINE: FIELD: WHY`."""
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
    """A record as the text of a file for `parse`. It lacks `sha256`, which is the digest of the text itself."""
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
        made[name] = Correction(
            _needed(table, "gain"),
            _needed(table, "zero"),
            _quantity(table, "noise"),
            _quantity(table, "flicker"),
            _quantity(table, "drift"),
            _quantity(table, "resolution", positive=True),
            _filter(table.table("filter")),
        )
        table.no_more()
    return made


def _filter(table: Fields | None) -> Filter | None:
    if table is None:
        return None
    source = table.text("source", MOST_TEXT)
    ripple = table.number("ripple", least=0) if table.has("ripple") else None
    if table.has("mean_s"):
        made = Filter(source, mean_s=table.number("mean_s", least=SHORTEST_MEAN_S), ripple=ripple)
    else:
        poles = table.number("poles", least=1) if table.has("poles") else 1
        made = Filter(source, table.number("bandwidth_hz", least=LOWEST_HZ), int(poles), ripple=ripple)
        if poles not in range(1, MOST_POLES + 1):
            table.mistake("poles", f"must be a whole number from 1 to {MOST_POLES}")
    table.no_more()
    return made


LOWEST_HZ, SHORTEST_MEAN_S, MOST_POLES = 1e-3, 1e-9, 8


def _needed(table: Fields, name: str) -> Quantity:
    found = _quantity(table, name, positive=name == "gain")
    if found is None:
        table.mistake(name, "is missing")
        return NOTHING
    return found
