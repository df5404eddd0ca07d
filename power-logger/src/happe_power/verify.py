# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a whole trace again, and reports the faults of each file.

A part's size and SHA-256 (in the manifest or digests.jsonl) show whether it has changed since its closing. Its footer
and rows must agree. The account of indices shows whether one is missing or there twice.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from happe_contract.parts import BadPartError, Footer, read_footer
from happe_contract.traces import TimePair
from happe_power.recording import indices, parts
from happe_power.trace import Trace, TraceError, read_digests


@dataclass(frozen=True)
class Problem:
    """A fault of a file. `file` is the path in the trace's folder."""

    file: str
    detail: str


@dataclass
class Report:
    """The result of a check. `state`: open (no manifest yet), ended, or sealed (by the server)."""

    folder: Path
    state: str
    parts: int = 0
    samples: int = 0
    lost: int = 0
    end_index: int = 0
    problems: list[Problem] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(folder: Path) -> Report:
    """Check a trace; one under way up to its last closed part. Reports faults of files, and raises none of them."""
    try:
        trace = Trace.open(folder)
    except TraceError as error:
        return Report(folder, "unknown", problems=[Problem("header.json", _after_path(str(error)))])
    report = Report(folder, _state(trace))
    try:
        _check(trace, report)
    except TraceError as error:
        report.problems.append(Problem(_named(trace, str(error)), _after_path(str(error))))
    return report


def _state(trace: Trace) -> str:
    if trace.sealed:
        return "sealed"
    return "ended" if trace.manifest_file.exists() else "open"


def _check(trace: Trace, report: Report) -> None:
    """Add all faults to the report."""
    said = {part["number"]: part for part in trace.manifest["parts"]} if trace.manifest else {}
    known = said or read_digests(trace.folder)
    footers = [footer for n in trace.numbers if (footer := _part(trace, n, known.get(n, {}), report.problems))]
    report.parts, report.samples = len(trace.numbers), sum(footer.rows for footer in footers)
    report.lost = sum(gap.to_index - gap.from_index for gap in trace.gaps)
    report.end_index = trace.end_index
    report.problems += _missing(trace)
    if len(footers) == len(said or trace.numbers):  # else a part is missing, which is reported already
        report.problems += _account(trace, footers)
    report.problems += [*_times(trace, footers), *_manifest(trace, footers)]


def _missing(trace: Trace) -> Iterator[Problem]:
    """Report missing parts. Once the server has sealed the trace, parts may be deleted."""
    here = trace.numbers
    wanted = trace.manifest["count"] if trace.manifest else max(here, default=-1) + 1
    if not trace.sealed:
        for number in sorted(set(range(wanted)) - set(here)):
            yield Problem(f"parts/{number:06}.parquet", "is missing")


def _part(trace: Trace, number: int, said: dict[str, Any], problems: list[Problem]) -> Footer | None:
    """Return a part's footer if it can be read, and add its faults. `said`: its size and SHA-256 at its closing."""
    path = trace.part(number)
    name = f"parts/{path.name}"
    try:
        raw = path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        if said and (said["bytes"], said["sha256"]) != (len(raw), digest):
            problems.append(Problem(name, f"has changed since it was closed: {len(raw)} bytes with SHA-256 {digest}"))
            return None
        footer = read_footer(path)
        parts.checked_columns(path, trace.channels, footer)
    except (BadPartError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        problems.append(Problem(name, why or str(error)))
        return None
    problems += [Problem(name, detail) for detail in _part_faults(trace, number, said, footer)]
    return footer


def _part_faults(trace: Trace, number: int, said: dict[str, Any], footer: Footer) -> Iterator[str]:
    if (footer.trace, footer.number) != (trace.id, number):
        yield f"says that it is part {footer.number} of trace {footer.trace}"
    if "samples" in said and (said["first_index"], said["samples"]) != (footer.first_index, footer.rows):
        yield f"has {footer.rows} rows from index {footer.first_index}; the manifest says otherwise"
    if not footer.time_base:
        yield "has no pair of index and time"


def _account(trace: Trace, footers: Sequence[Footer]) -> Iterator[Problem]:
    """Report indices that are in no row and no gap, and those that are in more than one."""
    end = trace.end_index if trace.manifest else max([trace.started.index, *(each.end_index for each in footers)])
    rows = [(first, first + count) for footer in footers for first, count in footer.runs]
    if sorted(rows) != rows:
        yield Problem("parts", "their runs are not in the order of the indices")
    gaps = [(gap.from_index, min(gap.to_index, end)) for gap in trace.gaps if gap.from_index < end]
    spans = sorted([*rows, *gaps])
    for first, last in indices.holes(trace.started.index, end, spans):
        yield Problem("gaps.jsonl", f"indices {first} to {last} are neither in a row nor in a gap")
    for first, last in indices.overlaps(trace.started.index, spans):
        yield Problem("gaps.jsonl", f"indices {first} to {last} are in two rows or gaps, or before the trace")
    if trace.manifest and spans and spans[-1][1] != end:
        yield Problem("manifest.json", f"ends at index {end}; rows and gaps end at {spans[-1][1]}")


def _times(trace: Trace, footers: Sequence[Footer]) -> Iterator[Problem]:
    for footer in footers:
        for at in _backward(footer.time_base):
            yield Problem(f"parts/{footer.number:06}.parquet", f"its time base goes back at index {at}")
    for before, after in pairwise(footers):
        earlier = [pair.monotonic_us for pair in (*before.time_base, *after.time_base)]
        if earlier != sorted(earlier):
            yield Problem(f"parts/{after.number:06}.parquet", "begins earlier than the part before ends")
    said = [*trace.manifest["time_base"], trace.manifest["ended"]] if trace.manifest else []
    for at in _backward([TimePair(**each) for each in said]):
        yield Problem("manifest.json", f"its time base goes back at index {at}")


def _backward(pairs: Sequence[TimePair]) -> Iterator[int]:
    for before, after in pairwise(pairs):
        if after.index < before.index or after.monotonic_us < before.monotonic_us:
            yield after.index


def _manifest(trace: Trace, footers: Sequence[Footer]) -> Iterator[Problem]:
    """Check the manifest against the gaps and the parts."""
    if trace.manifest is None:
        return
    if trace.manifest["trace"] != trace.id:
        yield Problem("manifest.json", f"is of trace {trace.manifest['trace']}")
    said = [(gap["from_index"], gap["to_index"], gap["reason"]) for gap in trace.manifest["gaps"]]
    if said != [(gap.from_index, gap.to_index, gap.reason.value) for gap in trace.gaps]:
        yield Problem("manifest.json", "its gaps are not those of gaps.jsonl")
    rows = sum(footer.rows for footer in footers)
    if len(footers) == trace.manifest["count"] and trace.manifest["samples"] != rows:
        yield Problem("manifest.json", f"has {trace.manifest['samples']} samples; the parts have {rows} rows")


def _named(trace: Trace, message: str) -> str:
    """The file at the beginning of an error's message, by its path in the trace's folder."""
    path = message.partition(": ")[0]
    return path.removeprefix(f"{trace.folder}/")


def _after_path(message: str) -> str:
    return message.partition(": ")[2]
