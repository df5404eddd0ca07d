# SPDX-License-Identifier: GPL-2.0-or-later
"""The complete runs in the table `runs` of a study's export, as CSV, JSON lines or Parquet."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pyarrow import ArrowException, parquet

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COMPLETE = "complete"
CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{8}")
WHOLE = re.compile(r"[0-9]{1,18}")
NEEDED = ("run", "state", "laptop", "started_us", "ended_us")
MOST_TOLD = 20


class RunsError(ValueError):
    """A table of runs can't be read; lines of FILE: row: column: what is wrong."""


class StudyRun(NamedTuple):
    """A complete run at a laptop, between two times of the server in microseconds."""

    run: str
    laptop: str
    begin_us: int
    end_us: int


def read_runs(path: Path) -> list[StudyRun]:
    """The complete runs of a file, as it has them. Raises RunsError, OSError."""
    rows = _rows(path)
    missing = [name for name in NEEDED if rows and name not in rows[0]]
    if missing:
        raise RunsError(f"{path}: has no column {missing[0]}; is it the table `runs` of `happe-server study export`?")
    found: dict[str, StudyRun] = {}
    wrong = []
    for number, row in enumerate(rows, start=1):
        if row["state"] != COMPLETE:
            continue
        at = f"{path}: row {number}"
        faults = [f"{at}: {fault}" for fault in _faults(row)]
        if not faults and row["run"] in found:
            faults = [f"{at}: run: {row['run']} is there twice"]
        wrong += faults
        if not faults:
            found[row["run"]] = StudyRun(row["run"], row["laptop"], int(row["started_us"]), int(row["ended_us"]))
    if wrong:
        raise RunsError("\n".join(wrong[:MOST_TOLD]))
    return list(found.values())


def _faults(row: dict[str, Any]) -> Iterable[str]:
    for name in ("run", "laptop"):
        if not CODE.fullmatch(str(row[name])):
            yield f"{name}: must be a code of eight characters, is {row[name]!r}"
    times = [str(row[name]) for name in ("started_us", "ended_us")]
    for name, text in zip(("started_us", "ended_us"), times, strict=True):
        if not WHOLE.fullmatch(text):
            yield f"{name}: must be microseconds since 1970, is {row[name]!r}"
    if all(map(WHOLE.fullmatch, times)) and int(times[1]) <= int(times[0]):
        yield "ended_us: must be later than started_us"


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        match path.suffix:
            case ".parquet":
                rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
                return rows
            case ".jsonl":
                return [_object(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
            case _:
                with path.open(encoding="utf-8", newline="") as file:
                    return list(csv.DictReader(file, strict=True))
    except (ValueError, csv.Error, ArrowException) as error:
        raise RunsError(f"{path}: cannot be read: {error}") from None


def _object(value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} is no row")  # noqa: TRY004 - of the file, not of a caller
    return value
