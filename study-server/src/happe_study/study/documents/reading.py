# SPDX-License-Identifier: GPL-2.0-or-later
"""JSON documents that an analysis reads: the runs' measured power, and the power model of a machine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_study.study.documents.machines import PowerModel

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["MOST_TOLD", "InputError", "Measure", "PowerModel", "measures_in", "model_in", "read_measures", "read_model"]

MOST_TOLD = 20


class InputError(Exception):
    """An input file is wrong. Each line says FILE: PLACE: what is wrong."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Keep the lines."""
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)


@dataclass(frozen=True)
class Measure:
    """A run's mean power in watts with its expanded uncertainty (k = 2); or in `refused` why there is none.

    Times are microseconds of the server's clock. `seconds_w` has the mean of each second from `from_us` on, None where
    there are no samples. Fields that a document lacks are None or empty.
    """

    run: str
    mean_w: float | None = None
    uncertainty_w: float | None = None
    calibration: str = ""
    refused: str = ""
    laptop: str = ""
    meter: str = ""
    trace: str = ""
    from_us: int | None = None
    to_us: int | None = None
    seconds_w: tuple[float | None, ...] = ()
    notes: tuple[str, ...] = ()
    instrument: str = ""


def read_measures(file: Path) -> dict[str, Measure]:
    """Read a file's measures, by run. Raises InputError if the file is wrong."""
    return measures_in(file.read_bytes(), str(file))


def measures_in(raw: bytes, file: str) -> dict[str, Measure]:
    """Read the measures from a file's bytes, by run. Raises InputError if the file is wrong."""
    document = _checked(raw, file, Kind.POWER_MEASURES)
    measures = [_measure(each) for each in document["measures"]]
    found = {each.run: each for each in measures}
    if len(found) < len(measures):
        [(twice, _)] = Counter(each.run for each in measures).most_common(1)
        raise InputError([f"{file}: run {twice} appears twice"])
    return found


def _measure(fields: dict[str, Any]) -> Measure:
    cut = {name: fields[name] for name in ("laptop", "meter", "trace", "from_us", "to_us") if name in fields}
    if "refused" in fields:
        return Measure(fields["run"], refused=fields["refused"], **cut)
    calibration = fields["calibration"]
    says = f"{calibration['standing']}: {calibration['says']}"
    seconds = tuple(None if watts is None else float(watts) for watts in fields.get("seconds_w", ()))
    watts, uncertainty = float(fields["mean_w"]), float(fields["expanded_uncertainty"])
    notes = tuple(fields.get("notes", ()))
    by = "{device} ({kind})".format(**fields["instrument"]) if "instrument" in fields else ""
    return Measure(fields["run"], watts, uncertainty, says, seconds_w=seconds, notes=notes, instrument=by, **cut)


def read_model(file: Path) -> PowerModel:
    """Read a file's power model. Raises InputError if the file is wrong."""
    return model_in(file.read_bytes(), str(file))


def model_in(raw: bytes, file: str) -> PowerModel:
    """Read the power model from a file's bytes. Raises InputError if the file is wrong."""
    document = _checked(raw, file, Kind.POWER_MODEL)
    rows, columns = document["frequencies_khz"], document["utilisations_percent"]
    shape = [len(row) for row in document["watts"]]
    if shape != [len(columns)] * len(rows):
        raise InputError([f"{file}: /watts: must have a row for each frequency and a figure for each utilisation"])
    for name, values in (("frequencies_khz", rows), ("utilisations_percent", columns)):
        if sorted(set(values)) != values:
            raise InputError([f"{file}: /{name}: must ascend"])
    watts = tuple(tuple(map(float, row)) for row in document["watts"])
    return PowerModel(document["machine"], document["measured"], tuple(rows), tuple(map(float, columns)), watts)


def _checked(raw: bytes, file: str, kind: Kind) -> dict[str, Any]:
    try:
        return schemas.read(kind, raw)
    except BadDocumentError as error:
        raise InputError([f"{file}: {fault.pointer}: {fault.detail}" for fault in error.faults]) from None
