# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the complete runs of a study's export from the folders of several traces.

A run's record has its begin and end by the laptop's clock. The server's `started_us` is earlier by the countdown, or
by a whole attempt if a run was begun again. So `read_runs` reads the tables `records` and `clocks` too, if they lie
beside `runs`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, json, parquet

from happe_contract import schemas
from happe_contract.faults import MOST_FAULTS, Fault
from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.runs import Measured, StudyRun
from happe_contract.measuring.runs import measured as measured_by
from happe_contract.measuring.session import Session, Times, TraceError
from happe_contract.measuring.zeros import HAVE_A_ZERO
from happe_contract.parts import first_line
from happe_contract.server_time import ClockSetError, server_clock
from happe_contract.strict_json import Json
from happe_contract.traces import ClockEstimate
from happe_power import figures
from happe_power.recording import zero_check
from happe_power.trace import Trace

UNCHECKED = (
    f"there is no zero check: if the measuring host made one, {zero_check.NAME} is in its spool; "
    "name that spool with --trace, too"
)


class Covered:
    """A trace, and the server's times that it covers. Its first use makes its session."""

    def __init__(self, trace: Trace, how: Json, zeros: Path | None = None) -> None:
        """Read only the header yet. `how`: options of figures.session. `zeros`: its checks, if in another folder."""
        self.trace = trace
        self.laptop = str(trace.header["measured"])
        self._how, self._zeros = how, zeros

    @cached_property
    def session(self) -> Session | Refusal:
        """The session, or why this trace gives no figures, such as a damaged file. Raises TomlFileError."""
        try:
            found = figures.session(self.trace, **self._how, zeros=self._zeros)
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


def opened(folders: Iterable[Path], how: Json) -> list[Covered]:
    """The traces of these folders, each once, by their ids. Raises TraceError.

    A trace may be in several folders: a download has no zero checks, and the spool may have no parts any more.
    """
    copies: dict[str, list[Trace]] = {}
    for trace in map(Trace.open, folders):
        copies.setdefault(trace.id, []).append(trace)
    return [_covered(copies[name], how) for name in sorted(copies)]


def _covered(copies: Sequence[Trace], how: Json) -> Covered:
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
CODE = {"type": "string", "pattern": "^[0-9A-HJKMNP-TV-Z]{8}$"}
TIME = {"type": "integer", "minimum": 0}
RUN = {"properties": {"run": CODE, "laptop": CODE, "started_us": TIME, "ended_us": TIME}}
COLUMNS = {
    "runs": ("run", "state", "laptop", "started_us", "ended_us"),
    "records": ("run", "clock", "started_us", "ended_us"),
    "clocks": ("device", "clock", "device_us", "offset_us", "uncertainty_us"),
}


class RunsError(ValueError):
    """A table of runs can't be read; each line of the message names the file and says what is wrong."""


def read_runs(path: Path) -> list[StudyRun]:
    """The complete runs of a file, in its order. Raises RunsError, OSError."""
    rows = [row for row in _table(path, "runs") if row["state"] == COMPLETE]
    wrong = [_said(path, rows, fault) for fault in schemas.faults({"items": RUN}, rows)]
    wrong += [
        f"{path}: run {name}: is there twice"
        for name, count in Counter(row["run"] for row in rows).items()
        if count > 1
    ]
    if wrong:
        raise RunsError("\n".join(wrong[:MOST_FAULTS]))
    found = [StudyRun(row["run"], row["laptop"], row["started_us"], row["ended_us"]) for row in rows]
    if late := [run.run for run in found if run.end_us <= run.begin_us]:
        raise RunsError(f"{path}: run {late[0]}: ended_us: must be later than started_us")
    beside = {
        name: path.with_name(f"{path.stem.removesuffix('runs')}{name}{path.suffix}") for name in ("records", "clocks")
    }
    if not (path.stem.endswith("runs") and all(map(Path.exists, beside.values()))):
        return found
    records = {row["run"]: row for row in _table(beside["records"], "records")}
    clocks: dict[tuple[str, str], list[ClockEstimate]] = {}
    for row in _table(beside["clocks"], "clocks"):
        estimate = ClockEstimate(row["device_us"], row["offset_us"], row["uncertainty_us"])
        clocks.setdefault((row["device"], row["clock"]), []).append(estimate)
    return [_by_record(run, records[run.run], clocks) if run.run in records else run for run in found]


def _said(path: Path, rows: list[dict[str, Any]], fault: Fault) -> str:
    number, field = fault.pointer.split("/")[1:]
    return f"{path}: run {rows[int(number)]['run']}: {field}: {fault.detail}"


def _by_record(run: StudyRun, record: dict[str, Any], clocks: dict[tuple[str, str], list[ClockEstimate]]) -> StudyRun:
    """Give a run the times of its record; leave it if the laptop's clock was never compared with the server's."""
    name = record["clock"]
    try:
        clock = server_clock(f"laptop {run.laptop} {name}", clocks.get((run.laptop, name), []))
    except ClockSetError as error:
        raise RunsError(f"run {run.run}: the clock of its laptop {run.laptop}: {error}") from None
    if clock is None:
        return run
    begin, end = record["started_us"], record["ended_us"]
    times = (clock.server_us(begin), clock.server_us(end))
    return run._replace(
        begin_us=times[0], end_us=times[1], by_record=True, begin_parts=clock.parts(begin), end_parts=clock.parts(end)
    )


def _table(path: Path, name: str) -> list[dict[str, Any]]:
    """The rows of one of COLUMNS: whole numbers in columns `..._us`, else texts. Raises RunsError, OSError."""
    wanted = pa.schema([(each, pa.int64() if each.endswith("_us") else pa.string()) for each in COLUMNS[name]])
    of = f"cannot be read as the table `{name}` of `happe-server study export`"
    try:
        match path.suffix:
            case ".parquet":
                read = parquet.read_table(path)
            case ".jsonl" if not path.stat().st_size:  # Arrow refuses an export without a row
                read = wanted.empty_table()
            case ".jsonl":
                read = json.read_json(path, parse_options=json.ParseOptions(wanted, unexpected_field_behavior="ignore"))
            case _:
                types = csv.ConvertOptions(column_types=wanted, include_columns=wanted.names, strings_can_be_null=True)
                read = csv.read_csv(
                    path, parse_options=csv.ParseOptions(newlines_in_values=True), convert_options=types
                )
        table = read.select(wanted.names).cast(wanted)
        rows: list[dict[str, Any]] = table.to_pylist()
    except (pa.ArrowException, ValueError, KeyError) as error:
        raise RunsError(f"{path}: {of}: {first_line(error)}") from None
    needed = ["state"] if name == "runs" else [each for each in wanted.names if each.endswith("_us")]
    if lacking := [each for each in needed if table[each].null_count]:
        raise RunsError(f"{path}: {of}: a row has no {lacking[0]}")
    return rows
