# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinds on the record, exports, calculates each run's power, makes the report, and gathers the results."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from laboratory.server import ADMINISTRATOR, STUDY, Json

if TYPE_CHECKING:
    from pathlib import Path

    from laboratory.laboratory import Laboratory

TABLES = ("runs", "ratings", "records", "samples", "keys", "learning_events", "traces", "clocks")


@dataclass(frozen=True)
class Found:
    """The results of the study. `tables` has its export's rows by table; `watts` has `happe-power measures` by run.

    `tables["runs"]` has the runs of people who sat at the laptop. `told` has the laptop's messages to the station:
    microseconds of CLOCK_MONOTONIC, kHz, CPU 0's utilisation.
    """

    tables: dict[str, list[Json]]
    sitting: Json
    told: list[tuple[int, int, float]]
    watts: dict[str, Json]
    results: Json

    def rows(self, table: str, run: str) -> list[Json]:
        """Return a run's rows of a table."""
        return [row for row in self.tables[table] if row["run"] == run]


def analyse(laboratory: Laboratory) -> Found:
    """Go from the last run to the figures. Exits if a program fails."""
    server, folder = laboratory.server, laboratory.folder
    who = ("--custodian", ADMINISTRATOR, "--reason", "every run is complete")
    password = ("--password-file", str(server.folder / "password"))
    unblinded = server.json("study", "unblind", STUDY, *who, *password, typed=f"{STUDY}\n")
    if not unblinded["agrees"]:
        sys.exit(f"laboratory: the allocation is not that which was sealed: {unblinded}")
    export, measures, report = folder / "export", folder / "measures.json", folder / "report"
    server.run("study", "export", STUDY, "--out", str(export), "--format", "jsonl")
    runs = export / f"{STUDY}-runs.jsonl"
    trace = ("--trace", str(folder / "station/spool"))
    measuring = laboratory.station("measures", str(runs), *trace, "--out", str(measures))
    ran = subprocess.run(measuring, check=False, env=laboratory.environment, capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"laboratory: happe-power measures: {ran.returncode}\n{ran.stdout}{ran.stderr}")
    server.run("analyse", str(export), "--power", str(measures), "--out", str(report))
    measured = {row["run"]: row for row in json.loads(measures.read_text())["measures"]}
    tables = {name: rows_of(export / f"{STUDY}-{name}.jsonl") for name in TABLES}
    tables["runs"] = [row for row in tables["runs"] if row["participant"] in laboratory.participants]
    sitting = json.loads((laboratory.sitting / "sitting.json").read_text())
    lines = [line.split() for line in (laboratory.sitting / "told.log").read_text().splitlines()]
    told = [(int(at_us), int(khz), float(share)) for at_us, khz, share in lines]
    return Found(tables, sitting, told, measured, json.loads((report / "results.json").read_text()))


def rows_of(file: Path) -> list[Json]:
    """Return the rows of a table of an export."""
    return [json.loads(line) for line in file.read_text().splitlines()]
