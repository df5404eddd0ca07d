# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents for a study's analysis: reading and storing the runs' measured power, and a machine's power model."""

import csv
import hashlib
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_study.base.clock import now_us
from happe_study.model.audit.chain import append
from happe_study.model.documents import AnalysisDocument, DocumentKind
from happe_study.model.rules import Caller
from happe_study.model.studies import Study


@dataclass(frozen=True)
class PowerModel:
    """Watts by frequency (kHz, the rows, ascending) and utilisation (percent, the columns, ascending)."""

    machine: str
    measured: str
    frequencies_khz: tuple[int, ...]
    utilisations_percent: tuple[float, ...]
    watts: tuple[tuple[float, ...], ...]

    def at(self, khz: float, percent: float) -> float:
        """Watts at a frequency and utilisation: bilinear between the model's points, constant beyond its edges."""
        rows = [_straight(self.utilisations_percent, row, percent) for row in self.watts]
        return _straight(self.frequencies_khz, rows, khz)


def _straight(points: Sequence[float], values: Sequence[float], at: float) -> float:
    """Linear interpolation; beyond the ends the value at the end."""
    right = bisect_right(points, at)
    if right == 0:
        return values[0]
    if right == len(points):
        return values[-1]
    share = (at - points[right - 1]) / (points[right] - points[right - 1])
    return values[right - 1] + share * (values[right] - values[right - 1])


def _t61() -> PowerModel:
    """Table A.2 of the paper, from profiles/t61-power.csv."""
    lines = schemas.T61_POWER.read_text(encoding="utf-8").splitlines()
    (_khz, *percents), *rows = csv.reader(line for line in lines if not line.startswith("#"))
    watts = tuple(tuple(map(float, row[1:])) for row in rows)
    khz = tuple(int(row[0]) for row in rows)
    return PowerModel("Lenovo ThinkPad T61 of the paper, Table A.2", "2010", khz, tuple(map(int, percents)), watts)


T61 = _t61()


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


READERS = {DocumentKind.MEASURES: measures_in, DocumentKind.MODEL: model_in}
NAMES = {DocumentKind.MEASURES: "measures.json", DocumentKind.MODEL: "machine.json"}
MOST_VALUES = 4_000_000  # counted as commas; 32 MiB of measures have about as many
MOST_MEASURES = 32 << 20  # bytes of measures
MOST_REFUSED = 200  # refused runs that a summary shows
MOST_REMEMBERED = 4

_REMEMBERED: OrderedDict[str, dict[str, Any]] = OrderedDict()  # by SHA-256


def find(session: Session, study: Study, kind: DocumentKind) -> AnalysisDocument | None:
    """A study's document of a kind; None if it has none."""
    of_kind = select(AnalysisDocument).where(AnalysisDocument.study_id == study.id, AnalysisDocument.kind == kind)
    return session.scalar(of_kind)


def measures(session: Session, study: Study) -> dict[str, Measure] | None:
    """The runs' measured power, if it exists."""
    found = find(session, study, DocumentKind.MEASURES)
    return measures_in(found.content, NAMES[DocumentKind.MEASURES]) if found else None


def model(session: Session, study: Study) -> PowerModel | None:
    """The machine's power model, if the study has one."""
    found = find(session, study, DocumentKind.MODEL)
    return model_in(found.content, NAMES[DocumentKind.MODEL]) if found else None


def told(document: AnalysisDocument) -> dict[str, Any]:
    """A document's summary. It is cached, because browsers ask every two seconds while a job makes a report."""
    known = _REMEMBERED.get(document.sha256)
    if known is None:
        short = _measures_in_short if document.kind == DocumentKind.MEASURES else _model_in_short
        known = _REMEMBERED[document.sha256] = short(document.content)
        while len(_REMEMBERED) > MOST_REMEMBERED:
            _REMEMBERED.popitem(last=False)
    return known


def _measures_in_short(content: bytes) -> dict[str, Any]:
    measures = measures_in(content, NAMES[DocumentKind.MEASURES]).values()
    refused = [each for each in measures if each.refused]
    calibrations = sorted({each.calibration for each in measures if each.calibration})
    counts = {"measured": len(measures) - len(refused), "refused": len(refused)}
    watts = {each.run: each.mean_w for each in measures if each.mean_w is not None}
    return {**counts, "refusals": refused[:MOST_REFUSED], "calibrations": calibrations, "watts": watts}


def _model_in_short(content: bytes) -> dict[str, Any]:
    return {"machine": model_in(content, NAMES[DocumentKind.MODEL]).machine}


def watts(session: Session, study: Study) -> dict[str, float]:
    """The uploaded mean power of runs, in watts by the run's code. Cached like `told`."""
    of_kind = (AnalysisDocument.study_id == study.id, AnalysisDocument.kind == DocumentKind.MEASURES)
    sha256 = session.scalar(select(AnalysisDocument.sha256).where(*of_kind))
    known = _REMEMBERED.get(sha256 or "")
    if known is None:
        document = find(session, study, DocumentKind.MEASURES)
        known = told(document) if document else {"watts": {}}
    found: dict[str, float] = known["watts"]
    return found


def read(kind: DocumentKind, raw: bytes) -> None:
    """Check an uploaded document. Raises InputError if it is wrong."""
    if raw.count(b",") > MOST_VALUES:
        raise InputError([f"has more than {MOST_VALUES} values"])
    READERS[kind](raw, "")


def keep(session: Session, study: Study, kind: DocumentKind, raw: bytes, who: Caller) -> None:
    """Store a document that `read` accepted, in place of the old one."""
    sha256 = _put(session, study, kind, raw, who.id)
    append(session, "analysis.uploaded", who, study_id=study.id, study=study.name, kind=kind, sha256=sha256)


def keep_measured(session: Session, study: Study, raw: bytes, asked_by: str) -> None:
    """Store the power that the server measured, in place of the old document."""
    sha256 = _put(session, study, DocumentKind.MEASURES, raw, None)
    append(session, "power.measured", None, study_id=study.id, study=study.name, asked_by=asked_by, sha256=sha256)


def _put(session: Session, study: Study, kind: DocumentKind, raw: bytes, account_id: int | None) -> str:
    known = find(session, study, kind)
    if known is None:
        known = AnalysisDocument(study_id=study.id, kind=kind)
        session.add(known)
    known.sha256 = hashlib.sha256(raw).hexdigest()
    known.content, known.uploaded_us, known.account_id = raw, now_us(), account_id
    return known.sha256
