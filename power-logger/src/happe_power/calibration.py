# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and writes calibration records as TOML files, which people also write by hand. Pure: bytes in, text out.

docs/calibration.md has an example. The record itself is happe_contract.calibration.
"""

import datetime as dt
import hashlib
from collections.abc import Iterator
from typing import Any

from happe_contract import schemas
from happe_contract.calibration import QUANTITIES, Calibration, from_header
from happe_contract.faults import Fault
from happe_power.toml_files import TomlFile, written


def parse(content: bytes, file: str) -> Calibration:
    """The record in a file's bytes. Raises TomlFileError with every mistake, as `FILE:LINE: FIELD: WHY`.

    A file is a header's calibration without `sha256`, and the same schema checks it.
    """
    read = TomlFile(content, file)
    said = {"sha256": hashlib.sha256(content).hexdigest()} | read.data
    read.refuse_if_any(schemas.faults_of_part(schemas.Kind.POWER_TRACE, "calibration", said))
    read.refuse_if_any(_impossible(said))
    record = from_header(said)
    assert record is not None  # noqa: S101 - only a header may lack one
    return record


def _impossible(said: dict[str, Any]) -> Iterator[Fault]:
    """Yield what the schema cannot tell: a resistance or gain that is not positive, and dates out of order."""
    quantities = {name: said.get(name) for name in QUANTITIES}
    for channel, parts in said.get("channels", {}).items():
        quantities |= {f"channels/{channel}/{name}": parts.get(name) for name in ("gain", "resolution")}
    for name, quantity in quantities.items():
        if quantity and quantity["value"] <= 0:
            yield Fault(f"/{name}/value", "must be more than 0")
    for name in ("date", "expires"):
        try:
            dt.date.fromisoformat(said[name])
        except ValueError:
            yield Fault(f"/{name}", "is no day of the calendar")
    if said["expires"] <= said["date"]:
        yield Fault("/expires", "must be after date")


def to_toml(record: Calibration) -> str:
    """A record as the text of a file for `parse`. It lacks `sha256`, which is the digest of the text itself."""
    said = record.to_header()
    tables = {name: value for name, value in said.items() if isinstance(value, dict) and name != "channels"}
    for channel, parts in said.get("channels", {}).items():
        tables |= {f"channels.{channel}.{name}": values for name, values in parts.items()}
    lines = [
        "# A calibration record of happe-power. Each standard_uncertainty is one standard uncertainty (k = 1).",
        written({"name": record.name}),
        *(f"{name} = {said[name]}" for name in ("date", "expires")),
    ]
    for name, values in tables.items():
        lines += ["", f"[{name}]", written(values)]
    return "\n".join([*lines, ""])
