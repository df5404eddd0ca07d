# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure whole uploads of run records beside bare inserts by the same framework, server and database.

An upload is a record of 120 s (about 18 KB): its token is looked up, its contract and its trace's rules are checked, it
is sealed, and in one transaction the record, the run's state and the audit log's entry are written. The bare reference
(bare.py) validates and inserts the same record. Rounds of the two alternate; ratios are of neighbouring rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import load
import serving
import stage
from postgres import Postgres

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from load import Outcome, Request
    from serving import Server

DATABASES = ("sqlite", "postgresql")
CLIENTS = 16
WARM_UP = 64  # requests that are not counted
LEAST_RATIO = 0.6
MOST_P99_MS = 150.0


@dataclass(frozen=True)
class Row:
    """What one kind of request came to: medians over the rounds. `ratio` is of uploads to it, paired by round."""

    per_s: float
    ratio: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float  # of the server's processes, a request


@dataclass(frozen=True)
class Result:
    """What was measured on a kind of database. Memory is in bytes."""

    database: str
    uploads: int
    upload_bytes: int
    upload: Row
    same_record: Row
    errors: list[str]
    study_peak_bytes: int
    reference_peak_bytes: int

    @property
    def misses(self) -> list[str]:
        """What was aimed for and missed."""
        aims = {
            f"{LEAST_RATIO} of the reference's writes": self.same_record.ratio >= LEAST_RATIO,
            f"p99 below {MOST_P99_MS:.0f} ms": self.upload.p99_ms < MOST_P99_MS,
            "no error": not self.errors,
        }
        return [aim for aim, met in aims.items() if not met]


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description="Measure uploads beside bare inserts.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round", type=int, default=320, help="requests of each kind in a round")
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="exit with 1 if an aim is missed")
    given = parser.parse_args(arguments)
    results = []
    with tempfile.TemporaryDirectory(prefix="happe-bench-") as folder:
        for kind in given.database or DATABASES:
            results.append(measure(kind, Path(folder), given))
            if not given.json:
                _print(results[-1])
    if given.json:
        print(json.dumps([asdict(result) | {"misses": result.misses} for result in results], indent=1))
    return int(given.check and any(result.misses for result in results))


def measure(kind: str, folder: Path, given: argparse.Namespace) -> Result:
    """Measure on a kind of database, new and durable, in a folder."""
    if kind == "sqlite":
        return _measure(kind, folder / kind, lambda name: f"sqlite:///{folder / kind / name}.db", given)
    cluster = Postgres(folder / "cluster", durable=True)
    try:
        for name in ("study", "reference"):
            cluster.execute(f"CREATE DATABASE {name}")
        return _measure(kind, folder / kind, cluster.url, given)
    finally:
        cluster.stop("fast")


@dataclass
class Side:
    """A kind of request, its server, and what came of its rounds."""

    server: Server
    requests: list[Request]
    outcomes: list[Outcome] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def round(self, number: int, each: int) -> None:
        """Send one round's requests; round -1 is not counted, and warms up."""
        first = WARM_UP + number * each
        requests = self.requests[:WARM_UP] if number < 0 else self.requests[first : first + each]
        before = self.server.cpu_seconds()
        outcome = load.run(self.server.address, requests, CLIENTS)
        if number >= 0:
            self.outcomes.append(outcome)
            self.cpu_seconds += self.server.cpu_seconds() - before

    def row(self, study: Side) -> Row:
        """What came of the rounds, beside those of the study server."""
        pairs = zip(study.outcomes, self.outcomes, strict=True)
        return Row(
            per_s=statistics.median(outcome.per_second for outcome in self.outcomes),
            ratio=statistics.median(upload.per_second / own.per_second for upload, own in pairs),
            p50_ms=self._ms(50),
            p99_ms=self._ms(99),
            cpu_ms=self.cpu_seconds * 1000 / sum(len(outcome.latencies) for outcome in self.outcomes),
        )

    def _ms(self, percent: int) -> float:
        """The median over the rounds of the latency that so many percent stay below."""
        return statistics.median(outcome.percentile(percent) for outcome in self.outcomes) * 1000


def _measure(kind: str, folder: Path, url: Callable[[str], str], given: argparse.Namespace) -> Result:
    folder.mkdir()
    count = WARM_UP + given.rounds * given.round
    staged = stage.study_server(folder / "study", url("study"), count, CLIENTS)
    config = stage.reference(folder / "reference", url("reference"))
    study = Side(serving.start("study", staged.config, folder), staged.uploads)
    bare = serving.start("reference", config, folder)
    record = Side(bare, stage.documents(staged.uploads))
    try:
        for number in range(-1, given.rounds):
            for side in (study, record) if number % 2 else (record, study):
                side.round(number, given.round)
        peaks = study.server.peak_bytes(), bare.peak_bytes()
    finally:
        study.server.stop()
        bare.stop()
    errors = [error for side in (study, record) for each in side.outcomes for error in each.errors]
    return Result(
        database=kind,
        uploads=len(study.requests),
        upload_bytes=round(statistics.mean(len(request.body) for request in study.requests)),
        upload=study.row(study),
        same_record=record.row(study),
        errors=_lost(url("study"), count) + errors,
        study_peak_bytes=peaks[0],
        reference_peak_bytes=peaks[1],
    )


def _lost(url: str, sent: int) -> list[str]:
    """What an answered upload did not leave behind."""
    count, whole = stage.kept(url)
    lost = [] if count == sent else [f"{sent} uploads were answered, {count} are kept"]
    return lost if whole else [*lost, "the audit log is not whole"]


def _print(result: Result) -> None:
    print(f"{result.database}: {result.uploads} uploads of {result.upload_bytes} bytes, {CLIENTS} clients; medians")
    print(f"  {'':28} {'writes/s':>9} {'p50':>9} {'p99':>9} {'server CPU':>10} {'uploads to it':>14}")
    named = {
        "bare insert of the record": result.same_record,
        "whole upload of the record": result.upload,
    }
    for name, row in named.items():
        times = f"{row.p50_ms:6.1f} ms {row.p99_ms:6.1f} ms {row.cpu_ms:7.2f} ms"
        print(f"  {name:28} {row.per_s:9.0f} {times} {row.ratio:14.2f}")
    peaks = (
        f"peak RSS {result.study_peak_bytes / 2**20:.0f} MiB, reference {result.reference_peak_bytes / 2**20:.0f} MiB"
    )
    missed = f"  MISSED: {', '.join(result.misses)}" if result.misses else ""
    print(f"  ratio {result.same_record.ratio:.2f} (aim {LEAST_RATIO}), {len(result.errors)} errors, {peaks}{missed}")
    for error in sorted(set(result.errors))[:5]:
        print(f"    {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
