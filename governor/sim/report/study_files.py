# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what `happe-sim study --out` wrote: study.json and runs.csv."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NoReturn

from checked import BadDataError, Field, check_file_name, excerpt, parse_json, read_text
from study_data import CATEGORIES, PRESS_COLUMNS, Cell, Compared, GroupRow, PressRow, Run, Study, Total, against_paper

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "happe-simulated-study/1"
BEYOND = 1e12  # no figure of a study is greater
MOST_WATTS = 10_000.0
LEVELS = 10  # of a UAFP
ROUNDING = 1e-6  # of whoever wrote the file
EXPERIENCES = ("beginner", "moderate", "master")
MAJORS = ("EECS", "other")
FIRST_COLUMNS = [
    *("seed", "participant", "experience", "major", "application", "condition", "category", "need_khz"),
    *("power_mean_w", "utilisation", "rating", "performance_presses", "power_presses"),
]
LEARNING = ("T-HAPPE", "O-HAPPE", "B-HAPPE")
UAFP_COLUMNS = [f"uafp_{level}_khz" for level in range(LEVELS)]


def check_worst(study: Study, worst: Field) -> None:
    """Refuse a study.json whose own verdict is another than its figures give."""
    said = worst.at("share_of_tolerance").number(0, BEYOND) if worst.value is not None else 0.0
    found = max((named.figure.strain for named in against_paper(study)), default=0.0)
    if abs(said - found) > ROUNDING * max(1.0, found):
        worst.refuse(f"says {said:g} of the tolerance, but the figure that is furthest off is at {found:g}")


def read_study(folder: Path, protocol: str) -> Study:
    """Read a study's folder and check that it is of the protocol."""
    path = folder / "study.json"
    document = parse_json(read_text(path), str(path))
    document.at("format").one_of([FORMAT])
    found = document.at("protocol")
    if found.value != protocol:
        found.refuse(f"is {excerpt(found.value)}, must be {protocol!r} (are the two folders swapped?)")
    participants = document.at("participants").integer(1, 100_000)
    seeds = _seeds(document.at("seeds"))
    cells = _cells(document.at("cells"))
    ladder, runs = _read_runs(folder / "runs.csv", participants, seeds, cells)
    fixed = [f"fixed-{level}" for level in range(1, len(ladder) + 1)]
    for condition in ("ondemand", *LEARNING) if protocol == "paper" else fixed:
        if condition not in {cell.condition for cell in cells}:
            document.at("cells").refuse(f"has no condition {condition!r}, which the protocol {protocol!r} has")
    study = Study(
        folder=folder,
        protocol=protocol,
        provenance=document.at("provenance").name(longest=2_000),
        participants=participants,
        seeds=seeds,
        run_seconds=document.at("run_seconds").number(1, 86_400),
        cells=cells,
        totals=tuple(_total(item) for item in document.at("totals").items()),
        presses=tuple(_press_row(item) for item in document.at("presses").items()),
        groups=tuple(_group_row(item) for item in document.at("groups").items()),
        ladder_khz=ladder,
        runs=runs,
    )
    check_worst(study, document.at("worst"))
    return study


def _seeds(field: Field) -> tuple[int, ...]:
    seeds = tuple(item.integer(0, 2**32 - 1) for item in field.items())
    if not seeds or any(after != before + 1 for before, after in pairwise(seeds)):
        field.refuse("must hold one seed or several in a row")
    return seeds


def _compared(field: Field, least: float, most: float) -> Compared:
    figure = Compared(
        ours=field.at("ours").number(least, most),
        paper=field.optional("paper", least, most),
        tolerance=field.at("tolerance").number(1e-9, BEYOND) if field.has("paper") else None,
    )
    if figure.difference is not None:
        printed = field.at("difference")
        if abs(printed.number(-BEYOND, BEYOND) - figure.difference) > ROUNDING:
            printed.refuse(f"is {excerpt(printed.value)}, but ours less the paper's is {figure.difference:g}")
    return figure


def _cells(field: Field) -> tuple[Cell, ...]:
    cells = []
    for item in field.items():
        application = item.at("application")
        condition = item.at("condition")
        cells.append(
            Cell(
                application=check_file_name(application.name(), application.where),
                condition=check_file_name(condition.name(), condition.where),
                power_mean=_compared(item.at("power_mean_w"), 0, MOST_WATTS),
                power_sd=_compared(item.at("power_sd_w"), 0, MOST_WATTS),
                rating_mean=_compared(item.at("rating_mean"), 1, 5),
                rating_sd=_compared(item.at("rating_sd"), 0, 5),
                saving=item.optional("saving_percent", -BEYOND, 100),
                oracle_share=item.optional("oracle_share_percent", -BEYOND, BEYOND),
            )
        )
    names = [(cell.application, cell.condition) for cell in cells]
    applications, conditions = (list(dict.fromkeys(part)) for part in zip(*names, strict=True)) if names else ([], [])
    if not names or sorted(names) != sorted((a, c) for a in applications for c in conditions):
        field.refuse("must hold each application under each condition once")
    return tuple(cells)


def _total(field: Field) -> Total:
    return Total(
        condition=field.at("condition").name(),
        saving=_compared(field.at("saving_percent"), -BEYOND, 100),
        oracle_share=field.optional("oracle_share_percent", -BEYOND, BEYOND),
    )


def _press_row(field: Field) -> PressRow:
    rates = tuple(_compared(field.at(f"{column}_per_min"), 0, 6_000) for column in PRESS_COLUMNS)
    return PressRow(field.at("application").name(), rates)


def _group_row(field: Field) -> GroupRow:
    return GroupRow(
        group=field.at("group").name(),
        ours=field.optional("saving_percent", -BEYOND, 100),
        paper=field.at("paper_percent").number(-BEYOND, 100),
    )


@dataclass(frozen=True)
class _Row:
    """A line of runs.csv."""

    fields: dict[str, str]
    where: str

    def refuse(self, column: str, what: str) -> NoReturn:
        message = f"{self.where}: {column}: is {excerpt(self.fields[column])}, {what}"
        raise BadDataError(message)

    def integer(self, column: str, least: int, most: int) -> int:
        text = self.fields[column]
        if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            self.refuse(column, f"must be a whole number from {least} to {most}")
        return int(text)

    def number(self, column: str, least: float, most: float) -> float:
        text = self.fields[column]
        if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,12})?", text, re.ASCII) or not least <= float(text) <= most:
            self.refuse(column, f"must be a number from {least:g} to {most:g}")
        return float(text)

    def one_of(self, column: str, choices: tuple[str, ...]) -> str:
        if self.fields[column] not in choices:
            self.refuse(column, f"must be {' or '.join(choices)}")
        return self.fields[column]


def _ladder(columns: list[str], file: str) -> tuple[int, ...]:
    """Return the ladder in kHz that the columns name, and refuse other columns than happe-sim writes."""
    speeds = [column for column in columns if re.fullmatch(r"seconds_at_[1-9][0-9]{0,7}", column, re.ASCII)]
    wanted = [*FIRST_COLUMNS, *speeds, *UAFP_COLUMNS]
    if columns != wanted:
        both = zip(columns, wanted, strict=False)
        at = next((i for i, (a, b) in enumerate(both) if a != b), min(len(columns), len(wanted)))
        found = excerpt(columns[at]) if at < len(columns) else "missing"
        expected = f"must be {wanted[at]!r}" if at < len(wanted) else "is unknown"
        message = f"{file}: line 1: column {at + 1} is {found}, {expected}"
        raise BadDataError(message)
    ladder = tuple(int(column.rpartition("_")[2]) for column in speeds)
    if not ladder or any(below >= above for below, above in pairwise(ladder)):
        message = f"{file}: line 1: the columns seconds_at_... must name frequencies in kHz, ascending"
        raise BadDataError(message)
    return ladder


def _uafp(row: _Row) -> tuple[int, ...]:
    if row.fields["condition"] not in LEARNING and all(row.fields[column] == "" for column in UAFP_COLUMNS):
        return ()
    values = tuple(row.integer(column, 1, 20_000_000) for column in UAFP_COLUMNS)
    if any(below > above for below, above in pairwise(values)):
        message = f"{row.where}: uafp_0_khz to uafp_9_khz: must not descend"
        raise BadDataError(message)
    return values


def _run(row: _Row, ladder: tuple[int, ...], participants: int) -> Run:
    row.one_of("experience", EXPERIENCES)
    row.one_of("major", MAJORS)
    row.number("need_khz", 0, BEYOND)
    return Run(
        participant=row.integer("participant", 1, participants),
        application=row.fields["application"],
        condition=row.fields["condition"],
        category=row.one_of("category", CATEGORIES),
        power_w=row.number("power_mean_w", 0, MOST_WATTS),
        utilisation=row.number("utilisation", 0, 1),
        rating=row.integer("rating", 1, 5),
        performance_presses=row.integer("performance_presses", 0, 1_000_000),
        power_presses=row.integer("power_presses", 0, 1_000_000),
        seconds_at=tuple(row.number(f"seconds_at_{khz}", 0, 86_400) for khz in ladder),
        uafp_khz=_uafp(row),
    )


def _read_runs(
    path: Path, participants: int, seeds: tuple[int, ...], cells: tuple[Cell, ...]
) -> tuple[tuple[int, ...], dict[tuple[int, str, str], Run]]:
    """Return the ladder in kHz and the first seed's runs, of which each participant x cell must have exactly one."""
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    known = {(cell.application, cell.condition) for cell in cells}
    runs: dict[tuple[int, str, str], Run] = {}
    try:
        columns = next(reader, [])
        ladder = _ladder(columns, str(path))
        for values in reader:
            where = f"{path}: line {reader.line_num}"
            if len(values) != len(columns):
                message = f"{where}: has {len(values)} fields, must have {len(columns)}"
                raise BadDataError(message)
            row = _Row(dict(zip(columns, values, strict=True)), where)
            run = _run(row, ladder, participants)
            if (run.application, run.condition) not in known:
                what = f"with the condition {excerpt(run.condition)} is not in study.json"
                row.refuse("application", what)
            if row.integer("seed", seeds[0], seeds[-1]) != seeds[0]:
                continue
            key = (run.participant, run.application, run.condition)
            if key in runs:
                row.refuse("participant", "is listed twice with this application and condition")
            runs[key] = run
    except csv.Error as error:
        message = f"{path}: line {reader.line_num}: {error}"
        raise BadDataError(message) from error
    for participant in range(1, participants + 1):
        for application, condition in sorted(known):
            if (participant, application, condition) not in runs:
                message = f"{path}: participant {participant}: no run of {excerpt(application)} under {condition}"
                raise BadDataError(message)
    return ladder, runs
