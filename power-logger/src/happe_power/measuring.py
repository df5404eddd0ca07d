# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the complete runs of a study's export from the folders of several traces.

A run's record has its begin and end by the laptop's clock. The server's `started_us` is earlier by the countdown, or
by a whole attempt if a run was begun again. So `read_runs` reads the tables `records` and `clocks` too, if they lie
beside `runs`.
"""

from __future__ import annotations

import csv
import json
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyarrow import ArrowException, parquet

from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.runs import Measured, StudyRun
from happe_contract.measuring.runs import measured as measured_by
from happe_contract.measuring.session import Times, TraceError
from happe_contract.measuring.zeros import HAVE_A_ZERO
from happe_contract.server_time import ClockSetError, server_clock
from happe_contract.traces import ClockEstimate
from happe_power import figures
from happe_power.recording import zero_check
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from happe_contract.measuring.refusal import Limits
    from happe_contract.measuring.session import Session

UNCHECKED = (
    f"there is no zero check: if the measuring host made one, {zero_check.NAME} is in its spool; "
    "name that spool with --trace, too"
)


class How(NamedTuple):
    """How a trace's watts are computed: see figures.session."""

    record: Path | None = None
    channel: str | None = None
    own_clock: bool = False


class Covered:
    """A trace, and the server's times that it covers. Its first use makes its session."""

    def __init__(self, trace: Trace, how: How, zeros: Path | None = None) -> None:
        """Read only the header yet. `zeros`: the file of its zero checks, if it is not in the trace's folder."""
        self.trace = trace
        self.laptop = str(trace.header["measured"])
        self._how, self._zeros = how, zeros

    @cached_property
    def session(self) -> Session | Refusal:
        """The session, or why this trace gives no figures, such as a damaged file. Raises TomlFileError."""
        try:
            found = figures.session(self.trace, **self._how._asdict(), zeros=self._zeros)
        except TraceError as error:
            return Refusal(Why.NO_SAMPLES, str(error))
        if isinstance(found, Refusal) or found.checks.readings or found.rig.channel.measures not in HAVE_A_ZERO:
            return found
        return found._replace(notes=(*found.notes, UNCHECKED))

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """The trace's start and end in the server's time, in microseconds; None: unknown."""
        if isinstance(self.session, Refusal):
            return None
        whole = self.session.interval(Times())
        return whole.begin.server_us, whole.end.server_us

    def shares(self, run: StudyRun) -> int:
        """How many microseconds of a run the trace covers."""
        begin, end = self.span or (0, 0)
        return max(0, min(end, run.end_us) - max(begin, run.begin_us))


def opened(folders: Iterable[Path], how: How) -> list[Covered]:
    """The traces of these folders, each once, by their ids. Raises TraceError.

    A trace may be in several folders: a download has no zero checks, and the spool may have no parts any more.
    """
    copies: dict[str, list[Trace]] = {}
    for trace in map(Trace.open, folders):
        copies.setdefault(trace.id, []).append(trace)
    return [_covered(copies[name], how) for name in sorted(copies)]


def _covered(copies: Sequence[Trace], how: How) -> Covered:
    """Choose the copy of a trace with most parts, at best an ended one, and the zero checks of any copy."""
    best = max(copies, key=lambda each: (len(each.numbers), (each.folder / "manifest.json").exists()))
    zeros = (each.folder / zero_check.NAME for each in (best, *copies))
    return Covered(best, how, next((path for path in zeros if path.exists()), None))


def measured(runs: Iterable[StudyRun], traces: Sequence[Covered], limits: Limits) -> Iterator[Measured]:
    """Measure each run by that trace of its laptop which covers most of the run. Raises TomlFileError."""
    for run in runs:
        mine = [each for each in traces if each.laptop == run.laptop]
        best = max(mine, key=lambda each: each.shares(run), default=None)
        if best is None or isinstance(best.session, Refusal) or not best.shares(run):
            yield Measured(run, _uncovered(run, mine))
        else:
            yield measured_by(run, best.session, limits)


def _uncovered(run: StudyRun, mine: Sequence[Covered]) -> Refusal:
    if not mine:
        return Refusal(Why.NO_SAMPLES, f"no trace of laptop {run.laptop} was given")
    without = [f"{each.trace.id}: {each.session.detail}" for each in mine if isinstance(each.session, Refusal)]
    said = f"no trace of laptop {run.laptop} was recorded meanwhile"
    return Refusal(Why.NO_SAMPLES, "; ".join([said, *without]))


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
