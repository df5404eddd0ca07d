# SPDX-License-Identifier: GPL-2.0-or-later
"""The complete runs in the table `runs` of a study's export, as CSV, JSON lines or Parquet.

A run's record has its begin and end by the laptop's clock. The server's `started_us` is earlier by the countdown, or
by a whole attempt if a run was begun again. So this reads `records` and `clocks` too, if they lie beside `runs`.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyarrow import ArrowException, parquet

from happe_contract.measuring.runs import StudyRun
from happe_contract.server_time import ClockSetError, server_clock
from happe_contract.traces import ClockEstimate

if TYPE_CHECKING:
    from collections.abc import Iterable

COMPLETE = "complete"
CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{8}")
WHOLE = re.compile(r"[0-9]{1,18}")
NEEDED = ("run", "state", "laptop", "started_us", "ended_us")
RECORD_NEEDED = ("run", "clock", "started_us", "ended_us")
CLOCK_NEEDED = ("device", "clock", "device_us", "offset_us", "uncertainty_us")
SIGNED = re.compile(r"-?[0-9]{1,18}")
MOST_TOLD = 20


class RunsError(ValueError):
    """A table of runs can't be read; each line of the message is FILE: row: column: what is wrong."""


def read_runs(path: Path) -> list[StudyRun]:
    """The complete runs of a file, in its order. Raises RunsError, OSError."""
    found = _complete(path)
    beside = [path.with_name(f"{path.stem.removesuffix('runs')}{name}{path.suffix}") for name in ("records", "clocks")]
    if not (path.stem.endswith("runs") and all(map(Path.exists, beside))):
        return found
    records = {str(row["run"]): row for row in _table(beside[0], RECORD_NEEDED, "records")}
    clocks = _clocks(beside[1])
    return [_by_record(run, records[run.run], clocks) if run.run in records else run for run in found]


def _by_record(run: StudyRun, record: dict[str, Any], clocks: dict[tuple[str, str], list[ClockEstimate]]) -> StudyRun:
    """Give a run the times of its record; leave it if the laptop's clock was never compared with the server's."""
    name = str(record["clock"])
    try:
        clock = server_clock(f"laptop {run.laptop} {name}", clocks.get((run.laptop, name), []))
    except ClockSetError as error:
        raise RunsError(f"run {run.run}: the clock of its laptop {run.laptop}: {error}") from None
    if clock is None:
        return run
    begin, end = int(record["started_us"]), int(record["ended_us"])
    times = (clock.server_us(begin), clock.server_us(end))
    return run._replace(
        begin_us=times[0], end_us=times[1], by_record=True, begin_parts=clock.parts(begin), end_parts=clock.parts(end)
    )


def _clocks(path: Path) -> dict[tuple[str, str], list[ClockEstimate]]:
    """The clock estimates by device and clock."""
    found: dict[tuple[str, str], list[ClockEstimate]] = {}
    for row in _table(path, CLOCK_NEEDED, "clocks"):
        estimate = ClockEstimate(*(int(row[name]) for name in CLOCK_NEEDED[2:]))
        found.setdefault((str(row["device"]), str(row["clock"])), []).append(estimate)
    return found


def _table(path: Path, needed: tuple[str, ...], table: str) -> list[dict[str, Any]]:
    """The rows of a table, whose columns `..._us` are whole numbers. Raises RunsError, OSError."""
    rows = _rows(path)
    missing = [name for name in needed if rows and name not in rows[0]]
    if missing:
        of = f"the table `{table}` of `happe-server study export`"
        raise RunsError(f"{path}: has no column {missing[0]}; is it {of}?")
    wrong = [
        f"{path}: row {number}: {name}: must be microseconds, is {row[name]!r}"
        for number, row in enumerate(rows, start=1)
        for name in needed
        if table != "runs" and name.endswith("_us") and not SIGNED.fullmatch(str(row[name]))
    ]
    if wrong:
        raise RunsError("\n".join(wrong[:MOST_TOLD]))
    return rows


def _complete(path: Path) -> list[StudyRun]:
    """The complete runs, with the server's times."""
    rows = _table(path, NEEDED, "runs")
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
