# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a trace's folder (SPOOL/STUDY/UUID), turns raw files into parts, and ends a trace, also after a kill.

Closing a part writes the gaps, then the part's digest, then the part, and then removes the raw file. The part's rename
closes it. If a kill comes between two steps, the next run repeats them, and loses or doubles nothing. It never makes an
existing part again, because the uploader may have sent it.
"""

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from happe_cli.disk import sync_folder
from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.parts import BadPartError, Footer, read_footer
from happe_contract.traces import Gap, Reason
from happe_power.recording import indices, parts, raw
from happe_power.recording.files import append_line, locked, remove_temporary, write_whole
from happe_power.recording.header import FOLDERS, compact, gap_line
from happe_power.recording.raw import Content, Record
from happe_power.trace import Trace, TraceError, read_digests, read_gaps

Json = dict[str, Any]


class EndError(Exception):
    """A trace cannot be ended; the message names the file and the reason."""


def close_part(trace: Trace, number: int, records: Sequence[Record] | None = None) -> None:
    """Make the part of this number from its raw file, and remove that file. Raises OSError; may be called again.

    `records`: those in the file, if they are still in memory.
    """
    if not trace.part(number).exists():
        content = raw.content_of(raw.read(trace.raw(number), trace.channels) if records is None else records)
        _add_gaps(trace, content.gaps)
        if content.runs:
            _write_part(trace, number, content)
    trace.raw(number).unlink()


def write_part(trace: Trace, footer: Footer, part: bytes | memoryview) -> None:
    """Write a part, after its size and SHA-256, by which a later check finds damage. Raises OSError."""
    append_line(trace.folder / "digests.jsonl", {"part": footer.number, **_digest(part)})
    write_whole(trace.part(footer.number), part)


def write_gaps(trace: Trace, gaps: Sequence[Gap]) -> None:
    """Replace the file of gaps."""
    write_whole(trace.gaps_file, b"".join(map(gap_line, gaps)))


def end(trace: Trace) -> None:
    """Close the open parts, and write the manifest. Raises OSError, EndError; may be called again."""
    for file in sorted(trace.folder.glob("open/[0-9]*.raw")):
        close_part(trace, int(file.stem))
    for name in ("parts", "."):
        remove_temporary(trace.folder / name)
    footers = _footers(trace)
    gaps = _explained(trace, footers)
    known = read_digests(trace.folder)
    contents = [known.get(each.number) or _digest(trace.part(each.number).read_bytes()) for each in footers]
    manifest = manifest_of(trace, footers, contents, gaps)
    schemas.check(schemas.Kind.POWER_TRACE_MANIFEST, manifest)
    write_whole(trace.manifest_file, compact(manifest))


def manifest_of(trace: Trace, footers: Sequence[Footer], contents: Sequence[Json], gaps: Sequence[Gap]) -> Json:
    """Return the manifest. `contents`: each part's size and digest. `gaps` and the runs cover each index once."""
    pairs = [trace.started, *(pair for footer in footers for pair in footer.time_base)]
    ordered = indices.thinned(pairs, trace.rate_hz, 1)
    ends = [trace.started.index, *(footer.end_index for footer in footers[-1:]), *(gap.to_index for gap in gaps[-1:])]
    return {
        "format": "happe-power-manifest/1",
        "trace": trace.id,
        "count": len(footers),
        "parts": [
            {"number": footer.number, **content, "first_index": footer.first_index, "samples": footer.rows}
            for footer, content in zip(footers, contents, strict=True)
        ],
        "samples": sum(footer.rows for footer in footers),
        "end_index": max(ends),
        "gaps": [{"from_index": g.from_index, "to_index": g.to_index, "reason": g.reason.value} for g in gaps],
        "ended": asdict(ordered[-1]),
        "time_base": [asdict(pair) for pair in indices.for_manifest(ordered, trace.rate_hz)],
    }


def _write_part(trace: Trace, number: int, content: Content) -> None:
    pairs = indices.thinned(content.pairs, trace.rate_hz, 1, content.restarts)
    footer = Footer(trace.id, number, tuple(content.runs), tuple(pairs))
    write_part(trace, footer, parts.encode(trace.channels, content.columns, footer, trace.part_room))


def _digest(part: bytes | memoryview) -> Json:
    return {"bytes": len(part), "sha256": hashlib.sha256(part).hexdigest()}


def _add_gaps(trace: Trace, found: Sequence[Gap]) -> None:
    if not found:
        return
    known = read_gaps(trace.gaps_file)
    gaps = indices.merged(known, found)
    if gaps != known:
        write_gaps(trace, gaps)


def _footers(trace: Trace) -> list[Footer]:
    numbers = sorted(int(path.stem) for path in trace.folder.glob("parts/[0-9]*.parquet"))
    if numbers != list(range(len(numbers))):
        missing = next(number for number in range(len(numbers) + 1) if number not in numbers)
        raise EndError(f"{trace.part(missing)}: is missing: put it back from a copy, or the trace can't be sealed")
    return [_footer(trace.part(number), trace.rate_hz) for number in numbers]


def _footer(path: Path, rate_hz: float) -> Footer:
    """Read a footer, with a time pair for each minute and the last. All pairs of a day take tens of megabytes."""
    try:
        footer = read_footer(path)
        pairs = (*indices.thinned(footer.time_base, rate_hz, 60), footer.time_base[-1])
        return replace(footer, time_base=tuple(dict.fromkeys(pairs)))
    except BadPartError as error:
        raise EndError(f"{path}: {error}") from None


def _explained(trace: Trace, footers: Sequence[Footer]) -> list[Gap]:
    """Return the gaps. Add and store a gap `killed` for samples that are missing without another reason."""
    gaps = read_gaps(trace.gaps_file)
    runs = [(first, first + rows) for footer in footers for first, rows in footer.runs]
    spans = sorted([*runs, *((gap.from_index, gap.to_index) for gap in gaps)])
    if not spans:
        return gaps
    lost = [Gap(first, end, Reason.KILLED) for first, end in indices.holes(trace.started.index, spans[-1][1], spans)]
    if lost:
        gaps = sorted([*gaps, *lost], key=lambda gap: gap.from_index)
        write_gaps(trace, gaps)
    return gaps


NEW = ".new"


@dataclass
class Open:
    """A trace under way, and the lock that is held on it."""

    trace: Trace
    lock: ExitStack

    def end(self) -> None:
        """Write the manifest, then release the lock. Raises OSError, EndError; may be called again."""
        end(self.trace)
        self.lock.close()
        shutil.rmtree(self.trace.lock.parent, ignore_errors=True)


@dataclass(frozen=True)
class Recovered:
    """A trace found open. `problem`: why the recovery could not end it; empty: it now has its manifest."""

    folder: Path
    problem: str = ""


def create(trace: Trace, beside: Mapping[str, bytes]) -> Open:
    """Make a trace's folder, header and files `beside` it in one step. Raises OSError, BadDocumentError."""
    schemas.check(schemas.Kind.POWER_TRACE, trace.header)
    study = trace.folder.parent
    study.mkdir(parents=True, exist_ok=True)
    new = Trace(study / f".{trace.id}{NEW}", trace.header)
    lock = ExitStack()
    try:
        for name in FOLDERS:
            (new.folder / name).mkdir(parents=True)
        lock.enter_context(locked(new.lock))
        for name, content in {**beside, "header.json": compact(trace.header)}.items():
            write_whole(new.folder / name, content)
        new.folder.rename(trace.folder)
        sync_folder(study)
    except OSError:
        lock.close()
        shutil.rmtree(new.folder, ignore_errors=True)
        raise
    return Open(trace, lock)


def recover(spool: Path) -> Iterator[Recovered]:
    """End each trace of a spool that no recorder is writing. A trace that can't be ended raises nothing."""
    for new in spool.glob(f"*/.*{NEW}/open/lock"):
        with locked(new) as free:
            if free:
                shutil.rmtree(new.parents[1], ignore_errors=True)
    for header in sorted(spool.glob("*/*/header.json")):
        if not (header.parent / "manifest.json").exists():
            yield from recover_trace(header.parent)


def recover_trace(folder: Path) -> Iterator[Recovered]:
    """End one trace, unless it is being recorded."""
    try:
        trace = Trace.open(folder)
        trace.lock.parent.mkdir(exist_ok=True)
        with ExitStack() as stack:
            if not stack.enter_context(locked(trace.lock)):
                return
            Open(trace, stack).end()
        yield Recovered(folder)
    except OSError as error:
        yield Recovered(folder, f"{error.filename or folder}: {error.strerror or error}")
    except (TraceError, EndError, BadDocumentError) as error:
        yield Recovered(folder, str(error))
