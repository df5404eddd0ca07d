# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetches the results: the server's watts of each run, the study's report, and its tables beside the paper's."""

import csv
import json
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from happe_demo.children import DemoError
from happe_demo.office import Office
from happe_demo.web import Browser
from happe_study.results.analysis.paper_tables import rounded

Json = dict[str, Any]

PER_CENT = 100
REPORT_S = 900.0
MOST_COLUMNS = 100
TOTALS = ("improvement_percent", "rating_mean")


@dataclass(frozen=True)
class Measured:
    """How far the measured watts were off the simulation's."""

    runs: int
    held: int  # runs whose true power lies within the stated uncertainty
    worst_w: float

    def lines(self) -> Iterator[str]:
        """The summary for the terminal."""
        yield f"  In {self.held} of {self.runs} runs the simulated watts lie within the measured watts' uncertainty;"
        yield f"  the worst was {self.worst_w:.3f} W off."


def export(office: Office, study: str, folder: Path) -> None:
    """Write the unblinded study's tables."""
    office("study", "export", study, "--out", folder, "--format", "jsonl")


def await_watts(browser: Browser, study: str) -> None:
    """Wait until the server has measured every run, which it begins by itself. Raises DemoError."""
    place = f"/studies/{study}/report"
    deadline = time.monotonic() + REPORT_S
    while "by the server" not in (page := browser.open(place)):
        if "could not measure" in page or time.monotonic() > deadline:
            raise DemoError(f"the runs were not measured: {place} says why")
        time.sleep(0.2)


def await_gate(browser: Browser, study: str) -> None:
    """Let the server check the data, and wait until nothing is unfinished. Raises DemoError if something is."""
    browser.open(f"/studies/{study}/checks")
    browser.send(f"/studies/{study}/checks")
    place = f"/studies/{study}/unblinding"
    deadline = time.monotonic() + REPORT_S
    while "Nobody has checked the data" in (page := browser.open(place)) and time.monotonic() < deadline:
        time.sleep(0.2)
    if "Nothing is unfinished" not in page:
        raise DemoError(f"the study is unfinished: {place} says why")


def report(browser: Browser, study: str, file: Path) -> Json:
    """Let the server write its report, as a researcher does, and download it. Return the report's figures."""
    place = f"/studies/{study}/report"
    browser.open(place)
    browser.send(place)
    deadline = time.monotonic() + REPORT_S
    while f'href="{place}/1"' not in (page := browser.open(place)):
        if 'class="state bad"' in page or time.monotonic() > deadline:
            raise DemoError(f"the report failed: {place} says why")
        time.sleep(0.2)
    file.write_bytes(browser.download(f"{place}/1/report.html"))
    figures: Json = json.loads(browser.open(f"{place}/1/results.json"))
    return figures


def measured(browser: Browser, study: str, played: Mapping[str, Json], file: Path) -> Measured:
    """Download the report's measures. `played`: the simulation's facts on each run. Raises DemoError."""
    file.write_text(browser.open(f"/studies/{study}/report/1/measures.json"))
    measures: list[Json] = json.loads(file.read_text())["measures"]
    refused = [f"run {each['run']}: {each['refused']}" for each in measures if "refused" in each]
    if refused:
        raise DemoError(*refused)
    off = [(abs(each["mean_w"] - played[each["run"]]["mean_w"]), each["expanded_uncertainty"]) for each in measures]
    return Measured(len(off), sum(error <= known for error, known in off), max(error for error, _ in off))


def checks(office: Office, study: str) -> Iterator[str]:
    """The results of the server's own checks of the data, one a line."""
    for check in office.json("study", "verify", study)["checks"]:
        said = textwrap.shorten(f"{check['verdict']}: {check['looked_at']}", MOST_COLUMNS, placeholder=" ...")
        yield f"  {check['title']:16}{said}"


def tables(results: Json, paper: Path) -> Iterator[str]:
    """Lines for the terminal: Tables A.1 and A.3 with the paper's figures in brackets."""
    data = {section["key"]: section["data"] or {} for section in results["sections"]}
    presses = next(each["table_a3"] for each in data.values() if "table_a3" in each)
    yield from _table_a1(data["table-a1"], _rows(paper / "table-a1.csv", "application", "condition"))
    yield ""
    yield from _table_a3(presses or (), _rows(paper / "table-a3.csv", "application"))


def _table_a1(found: Json, paper: Mapping[tuple[str, ...], Mapping[str, str]]) -> Iterator[str]:
    yield f"  {'Table A.1 (the paper)':24}{'power, W':>17}{'rating':>15}{'saving, %':>17}"
    for cell in found["cells"]:
        theirs = paper[cell["application"], cell["condition"]]
        yield (
            f"  {cell['application']:12}{cell['condition']:12}"
            f"{rounded(cell['power_mean_w']):9} ({theirs['power_mean_w']})"
            f"{rounded(cell['rating_mean']):8} ({theirs['rating_mean']})"
            f"{rounded(PER_CENT * cell['improvement']):9} ({theirs['improvement_percent']})"
        )
    for total in found["totals"]:
        printed = [row for (_, condition), row in paper.items() if condition == total["condition"]]
        saving, rating = (sum(float(row[name]) for row in printed) / len(printed) for name in TOTALS)
        yield (
            f"  {'all four':12}{total['condition']:12}{'':17}{rounded(total['rating_mean']):8} ({rounded(rating)})"
            f"{rounded(PER_CENT * total['improvement']):9} ({rounded(saving)})"
        )


def _table_a3(found: Sequence[Json], paper: Mapping[tuple[str, ...], Mapping[str, str]]) -> Iterator[str]:
    yield f"  {'Table A.3 (the paper)':24}{'faster, a minute':>17}{'save power':>15}"
    for row in found:
        theirs = paper[row["application"],]
        faster, saving = (theirs[f"{row['phase']}_{key}"] for key in ("performance", "power"))
        yield (
            f"  {row['application']:12}{row['phase']:12}"
            f"{rounded(row['performance']):10} ({faster}){rounded(row['power']):8} ({saving})"
        )


def _rows(file: Path, *keys: str) -> dict[tuple[str, ...], dict[str, str]]:
    """A table of the paper as a dict by its first columns. Lines with # are comments."""
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    return {tuple(row[key] for key in keys): row for row in csv.DictReader(lines)}
