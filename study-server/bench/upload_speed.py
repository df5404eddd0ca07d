# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure whole uploads of run records beside bare inserts by the same framework, server and database.

The reference validates one small body (`--reference record`: the record that is uploaded) and inserts one row. An
upload is a record of 120 s (about 18 KB): its token is looked up, its contract and its trace's rules are checked, and
in one transaction the record, the run's state and the audit log's entry are written. Rounds of both alternate; ratios
are of neighbouring rounds.
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
REFERENCES = ("note", "record")
CLIENTS = 16
WARM_UP = 64  # requests that are not counted
LEAST_RATIO = 0.6
MOST_P99_MS = 150.0


@dataclass(frozen=True)
class Result:
    """Medians over the rounds. `ratio` is of uploads to inserts a second, paired by round; memory is in bytes."""

    database: str
    uploads: int
    upload_bytes: int
    upload_per_s: float
    insert_per_s: float
    ratio: float
    upload_p50_ms: float
    upload_p99_ms: float
    insert_p50_ms: float
    insert_p99_ms: float
    upload_cpu_ms: float
    insert_cpu_ms: float
    errors: list[str]
    study_peak_bytes: int
    reference_peak_bytes: int

    @property
    def misses(self) -> list[str]:
        """What was aimed for and missed."""
        aims = {
            f"{LEAST_RATIO} of the reference's writes": self.ratio >= LEAST_RATIO,
            f"p99 below {MOST_P99_MS:.0f} ms": self.upload_p99_ms < MOST_P99_MS,
            "no error": not self.errors,
        }
        return [aim for aim, met in aims.items() if not met]


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description="Measure uploads beside bare inserts.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round", type=int, default=320, help="requests of each kind in a round")
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--reference", choices=REFERENCES, default="note", help="what the reference inserts")
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
    """One of the two servers, and what came of its rounds."""

    server: Server
    requests: list[Request]
    outcomes: list[Outcome] = field(default_factory=list)
    cpu_seconds: float = 0.0
    peak_bytes: int = 0

    def round(self, number: int, each: int) -> None:
        """Send one round's requests; round -1 is not counted, and warms up."""
        first = WARM_UP + number * each
        requests = self.requests[:WARM_UP] if number < 0 else self.requests[first : first + each]
        before = self.server.cpu_seconds()
        outcome = load.run(self.server.address, requests, CLIENTS)
        if number >= 0:
            self.outcomes.append(outcome)
            self.cpu_seconds += self.server.cpu_seconds() - before

    def ms(self, percent: int) -> float:
        """The median over the rounds of the latency that so many percent stay below."""
        return statistics.median(outcome.percentile(percent) for outcome in self.outcomes) * 1000

    @property
    def per_second(self) -> float:
        """The median over the rounds of the requests done a second."""
        return statistics.median(outcome.per_second for outcome in self.outcomes)

    @property
    def cpu_ms(self) -> float:
        """The server's processor time for a request."""
        return self.cpu_seconds * 1000 / sum(len(outcome.latencies) for outcome in self.outcomes)


def _measure(kind: str, folder: Path, url: Callable[[str], str], given: argparse.Namespace) -> Result:
    folder.mkdir()
    count = WARM_UP + given.rounds * given.round
    staged = stage.study_server(folder / "study", url("study"), count, CLIENTS)
    config = stage.reference(folder / "reference", url("reference"))
    study = Side(serving.start("study", staged.config, folder), staged.uploads)
    bare = stage.notes(count) if given.reference == "note" else stage.documents(staged.uploads)
    reference = Side(serving.start("reference", config, folder), bare)
    try:
        for number in range(-1, given.rounds):
            for side in (study, reference) if number % 2 else (reference, study):
                side.round(number, given.round)
        for side in (study, reference):
            side.peak_bytes = side.server.peak_bytes()
    finally:
        study.server.stop()
        reference.server.stop()
    return _result(kind, study, reference, _lost(url("study"), count))


def _lost(url: str, sent: int) -> list[str]:
    """What an answered upload did not leave behind."""
    count, whole = stage.kept(url)
    lost = [] if count == sent else [f"{sent} uploads were answered, {count} are kept"]
    return lost if whole else [*lost, "the audit log is not whole"]


def _result(kind: str, study: Side, reference: Side, lost: list[str]) -> Result:
    pairs = zip(study.outcomes, reference.outcomes, strict=True)
    return Result(
        database=kind,
        uploads=len(study.requests),
        upload_bytes=round(statistics.mean(len(request.body) for request in study.requests)),
        upload_per_s=study.per_second,
        insert_per_s=reference.per_second,
        ratio=statistics.median(one.per_second / other.per_second for one, other in pairs),
        upload_p50_ms=study.ms(50),
        upload_p99_ms=study.ms(99),
        insert_p50_ms=reference.ms(50),
        insert_p99_ms=reference.ms(99),
        upload_cpu_ms=study.cpu_ms,
        insert_cpu_ms=reference.cpu_ms,
        errors=lost + [error for side in (study, reference) for outcome in side.outcomes for error in outcome.errors],
        study_peak_bytes=study.peak_bytes,
        reference_peak_bytes=reference.peak_bytes,
    )


def _print(result: Result) -> None:
    print(f"{result.database}: {result.uploads} uploads of {result.upload_bytes} bytes, {CLIENTS} clients; medians")
    print(f"  {'':22} {'writes/s':>9} {'p50':>9} {'p99':>9} {'server CPU':>10} {'peak RSS':>10}")
    inserts = (result.insert_per_s, result.insert_p50_ms, result.insert_p99_ms, result.insert_cpu_ms)
    uploads = (result.upload_per_s, result.upload_p50_ms, result.upload_p99_ms, result.upload_cpu_ms)
    peaks = (result.reference_peak_bytes, result.study_peak_bytes)
    for name, row, peak in zip(("reference: bare insert", "whole upload"), (inserts, uploads), peaks, strict=True):
        speed, p50, p99, cpu = row
        print(f"  {name:22} {speed:9.0f} {p50:6.1f} ms {p99:6.1f} ms {cpu:7.2f} ms {peak / 2**20:6.0f} MiB")
    missed = f"  MISSED: {', '.join(result.misses)}" if result.misses else ""
    print(f"  ratio {result.ratio:.2f} (aim {LEAST_RATIO}), {len(result.errors)} errors{missed}")
    for error in sorted(set(result.errors))[:5]:
        print(f"    {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
