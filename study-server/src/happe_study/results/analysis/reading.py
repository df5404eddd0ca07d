# SPDX-License-Identifier: GPL-2.0-or-later
"""From a folder that `happe-server study export` wrote to the tidy table of runs, every run that is left out named.

A run counts if it is complete, nobody excluded it or its participant blind, and the participant has neither withdrawn
nor been replaced. Of presses less than a
second apart, of one key, the first counts (docs/traces.md).
"""

import csv
import hashlib
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from happe_study.base.tables import FORMULA, Format
from happe_study.results.analysis.tidy import Run, Runs
from happe_study.study.documents import InputError, Measure

SERIES_US = 1_000_000
LEFT = ("withdrawn", "replaced")
EXCLUDED = "excluded"  # a participant's state here, beside those of the export
GONE = (*LEFT, EXCLUDED)
MOST_W = 400.0  # the largest laptop supplies deliver this much; a T61's delivers 90 W
TOO_MUCH = (
    "Fault: run {}: power: {:.6g} W is more than any laptop's supply delivers ({:.0f} W), so this run has no power "
    "here. Look at the shunt, its range and the calibration."
)
Row = dict[str, Any]
Place = tuple[int, str]

# The needed columns of each table, with their types. Tables after the first three may be missing.
NEEDED: dict[str, dict[str, Callable[[Any], Any]]] = {
    "runs": {
        "run": str,
        "participant": str,
        "application": str,
        "condition": str,
        "position": int,
        "seconds": int,
        "state": str,
    },
    "ratings": {"run": str, "rating": int, "guess": str},
    "participants": {"participant": str, "state": str},
    "exclusions": {"participant": str, "reason": str, "blind": lambda flag: str(flag).lower() == "true"},
    "records": {"run": str, "started_us": int, "ended_us": int},
    "keys": {"run": str, "t_us": int, "key": str},
    "study": {"study": str, "protocol_sha256": str, "protocol": str},
    "samples": {"run": str, "t_us": int, "policy": int, "cpu": int, "cur_khz": int, "util_ppm": int},
}
OPTIONAL = ("exclusions", "records", "keys", "samples", "study")
MAY_BE_EMPTY = {"guess", "cur_khz"}
BLINDED = {"condition", "guess", "protocol"}


@dataclass(frozen=True)
class LeftOut:
    """A run that does not count, and why. `place`: its number among the participant's runs of the application."""

    run: str
    participant: str
    condition: str
    why: str
    place: int
    excluded: bool = False


@dataclass(frozen=True)
class Sample:
    """A sample period of a run: its end in seconds from the run's beginning, the frequency, the busiest CPU."""

    second: float
    khz: int | None
    busy_percent: float


@dataclass(frozen=True)
class Export:
    """An export's content. `digests`: SHA-256 of its files by name; `protocol`: the locked protocol's text.

    `deviation`: what was unfinished at the unblinding, and why that did not matter; empty if nothing was.
    """

    study: str
    runs: Runs
    left_out: tuple[LeftOut, ...]
    answers: Mapping[str, Mapping[str, str]]  # by question, then participant
    participants: Mapping[str, int]  # by state
    samples: Mapping[str, tuple[Sample, ...]]  # by run
    digests: Mapping[str, str]
    protocol: str | None = None
    deviation: str = ""
    exclusions: tuple[Row, ...] = ()  # `run` None: of the whole participant; not `blind`: a sensitivity analysis
    excluded: tuple[Run, ...] = ()  # the complete runs that would count without exclusions


def read_export(folder: Path) -> Export:
    """Read an export's folder. Raises InputError, which names file, row and column of each fault."""
    files = _files(folder)
    tables = {name: _table(name, file) for name, file in files.items()}
    exclusions = tuple(tables.get("exclusions", ()))
    out = {(row["participant"], row.get("run")): row for row in exclusions}
    people = {row["participant"]: _state(row, out) for row in tables["participants"]}
    places = _places(tables["runs"])
    counting, left_out = _sorted_out(tables["runs"], people, files["runs"], places, out)
    ratings = {row["run"]: row for row in tables["ratings"]}
    records = tables.get("records", [])
    presses = _presses(tables["keys"], records) if "keys" in tables else {}
    lengths = {row["run"]: (row["ended_us"] - row["started_us"]) / 1e6 for row in records}

    def tidied(rows: Iterable[Row]) -> tuple[Run, ...]:
        made = [_run(row, ratings.get(row["run"]), presses.get(row["run"]), lengths.get(row["run"])) for row in rows]
        doubted = [replace(run, doubted=any(out.get((run.participant, of)) for of in (None, run.run))) for run in made]
        return tuple(_in_order(doubted, places))

    lost = {each.run for each in left_out if each.excluded}
    return Export(
        study=files["runs"].name.removesuffix(f"-runs{files['runs'].suffix}"),
        runs=Runs(tidied(counting)),
        exclusions=exclusions,
        excluded=tidied(row for row in tables["runs"] if row["run"] in lost and row["state"] == "complete"),
        left_out=tuple(left_out),
        answers=_answers(tables["participants"], people),
        participants=Counter(people.values()),
        samples=_samples(tables.get("samples", ())),
        digests={file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(files.values())},
        protocol=_locked(files["study"], tables["study"]) if "study" in tables else None,
        deviation=_deviation(tables["study"][0]) if "study" in tables else "",
    )


def _state(row: Row, out: Mapping[tuple[str, str | None], Row]) -> str:
    """A participant's state: `excluded` if somebody excluded them blind, and they have not left."""
    whole = out.get((row["participant"], None))
    return EXCLUDED if whole and whole["blind"] and row["state"] not in LEFT else str(row["state"])


def _deviation(study: Row) -> str:
    if not study.get("override"):
        return ""
    return f"{study['unfinished']} The custodian's reason to unblind it all the same: {study['override']}"


def _locked(file: Path, rows: list[Row]) -> str:
    """The locked protocol's text. Raises InputError if its digest differs."""
    protocol: str = rows[0]["protocol"] if rows else ""
    if not rows or hashlib.sha256(protocol.encode()).hexdigest() != rows[0]["protocol_sha256"]:
        raise InputError([f"{file}: the protocol is not the one whose SHA-256 was locked"])
    return protocol


def with_power(runs: Runs, measures: Mapping[str, Measure]) -> tuple[Runs, list[str]]:
    """The runs with their measured power, and notes on runs without power, faults first.

    More power than a laptop can take is a fault. Such a run gets no power.
    """
    known = {run.run for run in runs.rows}
    faults = []
    notes = [f"run {code}: is measured, but does not count" for code in sorted(set(measures) - known)]
    made = []
    for run in runs.rows:
        measure = measures.get(run.run)
        if measure is None or measure.refused:
            notes.append(f"run {run.run}: {f'refused: {measure.refused}' if measure else 'not measured'}")
        elif (measure.mean_w or 0.0) > MOST_W:
            faults.append(TOO_MUCH.format(run.run, measure.mean_w, MOST_W))
            measure = None
        made.append(replace(run, mean_w=measure.mean_w, uncertainty_w=measure.uncertainty_w) if measure else run)
    return Runs(tuple(made)), [*faults, *notes]


def _files(folder: Path) -> dict[str, Path]:
    """The files of the export's tables, by table. Raises InputError unless they are all of one study."""
    if not folder.is_dir():
        raise InputError([f"{folder}: is not a folder; give the one that `happe-server study export` wrote"])
    found: dict[str, Path] = {}
    for table in NEEDED:
        here = sorted(file for form in Format for file in folder.glob(f"*-{table}.{form}"))
        if len(here) > 1:
            raise InputError([f"{folder}: has {here[0].name} and {here[1].name}; one export has one"])
        if here:
            found[table] = here[0]
        elif table not in OPTIONAL:
            raise InputError([f"{folder}: has no table of {table}; `happe-server study export` writes it"])
    studies = {file.name.removesuffix(f"-{table}{file.suffix}") for table, file in found.items()}
    if len(studies) > 1:
        raise InputError([f"{folder}: has tables of {' and '.join(sorted(studies))}; one export has one study"])
    return found


def _table(name: str, file: Path) -> list[Row]:
    """A table's rows. The needed columns are checked and converted, others stay as they are. Raises InputError."""
    rows, columns = _rows(file)
    for column in NEEDED[name]:
        if column not in columns:
            why = "; the export was made before the unblinding" if column in BLINDED else ""
            raise InputError([f"{file}: has no column {column}{why}"])
    wrong = [fault for number, row in enumerate(rows, start=1) for fault in _faults(name, row, f"{file}: row {number}")]
    if wrong:
        raise InputError(wrong[:20])
    return rows


def _rows(file: Path) -> tuple[list[Row], list[str]]:
    try:
        if file.suffix == ".parquet":
            table = pq.read_table(file)
            return table.to_pylist(), table.column_names
        if file.suffix == ".jsonl":
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            return rows, list(rows[0]) if rows else [c for columns in NEEDED.values() for c in columns]
        csv.field_size_limit(sys.maxsize)
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened, strict=True)
            return [_uncsv(row) for row in reader], list(reader.fieldnames or ())
    except (ValueError, csv.Error, pa.ArrowException) as error:
        raise InputError([f"{file}: cannot be read: {error}"]) from None


def _uncsv(row: Mapping[Any, Any]) -> Row:
    """Undo an export's escaping of texts that look like formulas. An empty cell becomes None."""
    return {name: _uncell(text) for name, text in row.items() if name is not None}


def _uncell(text: str | None) -> str | None:
    if text and text.startswith("'") and text[1:].startswith(FORMULA):
        return text[1:]
    return text or None


def _faults(table: str, row: Row, where: str) -> Iterable[str]:
    """Convert a row's cells to their types, and yield a fault for each that can't be."""
    for column, kind in NEEDED[table].items():
        value = row.get(column)
        if value is None:
            if column not in MAY_BE_EMPTY:
                yield f"{where}: {column}: is empty"
            continue
        try:
            row[column] = kind(value)
        except ValueError:
            yield f"{where}: {column}: must be a whole number, is {value!r}"


def _sorted_out(
    rows: Iterable[Row],
    people: Mapping[str, str],
    file: Path,
    places: Mapping[str, Place],
    out: Mapping[tuple[str, str | None], Row],
) -> tuple[list[Row], list[LeftOut]]:
    counting: list[Row] = []
    left_out: list[LeftOut] = []
    taken: dict[tuple[str, ...], str] = {}
    for row in rows:
        if row["participant"] not in people:
            raise InputError([f"{file}: run {row['run']}: the export has no participant {row['participant']}"])
        state = people[row["participant"]]
        exclusion = out.get((row["participant"], None if state == EXCLUDED else row["run"]))
        because = exclusion["reason"] if exclusion and exclusion["blind"] else ""
        why = _why_left_out(row, state, because)
        if why:
            lost = bool(because) and state not in LEFT
            left_out.append(LeftOut(row["run"], row["participant"], row["condition"], why, places[row["run"]][0], lost))
            continue
        other = taken.setdefault((row["participant"], row["application"], row["condition"]), row["run"])
        if other != row["run"]:
            raise InputError([f"{file}: runs {other} and {row['run']} are both the complete run of the same place"])
        counting.append(row)
    return counting, left_out


def _why_left_out(row: Row, state: str, excluded: str) -> str:
    if state == EXCLUDED:
        return f"the participant is excluded: {excluded}"
    if state in GONE:
        return f"the participant was {state}" if state == "replaced" else "the participant withdrew"
    if excluded:
        return f"excluded: {excluded}"
    if row["state"] == "complete":
        return ""
    reason = row.get("abort_reason")
    return f"{row['state']}: {reason}" if reason else str(row["state"])


def _run(row: Row, rating: Row | None, presses: tuple[int, int] | None, seconds: float | None) -> Run:
    performance, power = presses or (None, None)
    return Run(
        run=row["run"],
        participant=row["participant"],
        application=row["application"],
        condition=row["condition"],
        position=row["position"],
        seconds=float(row["seconds"]) if seconds is None else seconds,
        rating=rating["rating"] if rating else None,
        guess=rating["guess"] if rating else None,
        performance=performance,
        power=power,
    )


def _places(rows: Iterable[Row]) -> dict[str, Place]:
    """Each run's place among the participant's runs of the application, and the condition before it.

    Runs that do not count have places too, because they took the participant's time, or were planned there.
    """
    orders: dict[tuple[str, str], dict[int, str]] = defaultdict(dict)
    ordered = sorted(rows, key=lambda each: each["position"])
    for row in ordered:
        orders[row["participant"], row["application"]][row["position"]] = row["condition"]
    found = {}
    for row in ordered:
        order = orders[row["participant"], row["application"]]
        at = list(order).index(row["position"])
        found[row["run"]] = at + 1, list(order.values())[at - 1] if at else ""
    return found


def _in_order(runs: Iterable[Run], places: Mapping[str, Place]) -> Iterable[Run]:
    """The runs ordered by participant and position, each with its place and the condition before."""
    for run in sorted(runs, key=lambda each: (each.participant, each.position)):
        place, before = places[run.run]
        yield replace(run, place=place, before=before)


def _series(ordered: list[int]) -> int:
    """How many presses begin a series: those at least a second after the press before."""
    return 1 + sum(after - before >= SERIES_US for before, after in pairwise(ordered))


def _presses(keys: Iterable[Row], records: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """By run with a record, the counted presses of the performance key and of the power key."""
    times: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in keys:
        times[row["run"], row["key"]].append(row["t_us"])
    counted = {key: _series(sorted(found)) for key, found in times.items()}
    return {
        row["run"]: (counted.get((row["run"], "performance"), 0), counted.get((row["run"], "power"), 0))
        for row in records
    }


def _answers(rows: Iterable[Row], people: Mapping[str, str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        for column, value in row.items():
            if column.startswith("answer_") and value is not None and people[row["participant"]] not in GONE:
                found[column.removeprefix("answer_")][row["participant"]] = str(value)
    return dict(found)


def _samples(rows: Iterable[Row]) -> dict[str, tuple[Sample, ...]]:
    """The sample periods by run, each with the frequency of its first row and the busiest CPU."""
    periods: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        at = periods[row["run"]].setdefault(row["t_us"], dict(row))
        at["util_ppm"] = max(at["util_ppm"], row["util_ppm"])
    return {run: tuple(_of_period(at, min(times)) for _, at in sorted(times.items())) for run, times in periods.items()}


def _of_period(row: Row, first_us: int) -> Sample:
    """A sample. The table lacks a run's beginning, so its first period is taken to last a second."""
    return Sample(1 + (row["t_us"] - first_us) / 1e6, row.get("cur_khz"), row["util_ppm"] / 1e4)
