# SPDX-License-Identifier: GPL-2.0-or-later
"""A power trace's header: the rules that the schema can't express. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from happe_contract.faults import Fault, refuse_if_any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_contract.strict_json import Json

UNITS = {"shunt": "V", "supply": "V", "current": "A", "power": "W", "energy": "J", "marker": "V"}


@dataclass(frozen=True)
class TraceHeader:
    """The values that the server reads from a header. It stores the header itself unchanged."""

    trace: str
    study: str
    meter: str  # device codes
    measured: str
    first_index: int


def trace_header(document: Json, *, trace: str) -> TraceHeader:
    """Check a document that fits the schema, sent to trace `trace`'s address, and return its header.

    Raises BadDocumentError with at most 20 faults. The caller compares study and devices with the sender's.
    """
    refuse_if_any(_faults(document, trace))
    return TraceHeader(
        trace=trace,
        study=document["study"],
        meter=document["meter"],
        measured=document["measured"],
        first_index=document["started"]["index"],
    )


def _faults(document: Json, trace: str) -> Iterator[Fault]:
    if document["id"] != trace:
        yield Fault("/id", "differs from the id in the address")
    names = [channel["name"] for channel in document["channels"]]
    for number, channel in enumerate(document["channels"]):
        at = f"/channels/{number}"
        if channel["name"] in names[:number]:
            yield Fault(f"{at}/name", "repeats the name of an earlier channel")
        if channel["unit"] != UNITS[channel["measures"]]:
            yield Fault(f"{at}/unit", f"must be {UNITS[channel['measures']]} for what the channel measures")
        if channel["scale"] == 0:
            yield Fault(f"{at}/scale", "must not be 0")
    if document["calibration"] is not None:
        yield from _calibration_faults(document["calibration"], names)


def _calibration_faults(calibration: Json, channels: list[str]) -> Iterator[Fault]:
    days = {}
    for field in ("date", "expires"):
        try:
            days[field] = date.fromisoformat(calibration[field])
        except ValueError:
            yield Fault(f"/calibration/{field}", "is not a day of the calendar")
    if len(days) == len(("date", "expires")) and days["expires"] <= days["date"]:
        yield Fault("/calibration/expires", "must be later than date")
    for field in ("shunt_ohm", "divider", "supply_volt"):
        if field in calibration and calibration[field]["value"] <= 0:
            yield Fault(f"/calibration/{field}/value", "must be more than 0")
    for name in calibration.get("channels", {}):
        if name not in channels:
            yield Fault(f"/calibration/channels/{name}", "is not a channel of this trace")
