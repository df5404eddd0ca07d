# SPDX-License-Identifier: GPL-2.0-or-later
"""A study's power traces as folders that `happe-power` reads: docs/power-logger.md, Files.

OUT/STUDY/UUID has the header, the parts, the gaps, the clock estimates and the manifest. A download opens each part,
and compares it with the digest of the bytes that the meter sent. A folder gets its final name when all of it is on the
disk, so an interrupted download leaves nothing that looks like a trace. The next download begins that trace again. It
skips folders with a manifest, and fetches traces again that had no seal before.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_cli.disk import UNFINISHED, sync_file, sync_folder
from happe_study.model.devices import ClockEstimate
from happe_study.model.traces import Trace, TracePart
from happe_study.study.sealing import SealError, part_digest
from happe_study.study.traces.sealed import TraceFiles, listed_digests, seal_of
from happe_study.study.traces.storage import Part

REPLACED = ".replaced"
HEADER, PARTS, GAPS, CLOCKS, MANIFEST = "header.json", "parts", "gaps.jsonl", "clocks.jsonl", "manifest.json"


@dataclass(frozen=True)
class Downloaded:
    """A downloaded trace, or in `faults` why it is missing. `bytes` is the size of its parts."""

    trace: str
    folder: Path
    parts: int = 0
    bytes: int = 0
    there: bool = False  # an earlier download has written the whole trace
    sealed: bool = True
    faults: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Part:
    number: int
    sha256: str  # of the sealed file
    digest: str  # keyed, of what the meter sent


def download(session: Session, study_id: int, files: TraceFiles, out: Path) -> Iterator[Downloaded]:
    """Write each trace of an unblinded study into its own folder in `out`. Raises OSError."""
    traces = select(Trace).where(Trace.study_id == study_id).order_by(Trace.client_id)
    for trace in session.scalars(traces).all():
        folder = out / trace.client_id
        if (folder / MANIFEST).exists():
            yield Downloaded(trace.client_id, folder, there=True)
        elif others := _others(folder):
            said = (
                f"is not a complete download, and has files that downloads never write ({', '.join(others)}): "
                "move it away"
            )
            yield Downloaded(trace.client_id, folder, sealed=trace.sealed_us is not None, faults=(said,))
        else:
            yield _downloaded(session, trace, files, folder)


def _others(folder: Path) -> list[str]:
    """The names in a folder that no download writes: it may be somebody's work, or a recorder's spool."""
    ours = {HEADER, PARTS, GAPS, CLOCKS}
    return sorted({path.name for path in folder.iterdir()} - ours) if folder.exists() else []


def _downloaded(session: Session, trace: Trace, files: TraceFiles, folder: Path) -> Downloaded:
    parts = _parts(session, trace, files.key)
    unfinished, replaced = (folder.with_name(f".{folder.name}{end}") for end in (UNFINISHED, REPLACED))
    for each in (unfinished, replaced):
        shutil.rmtree(each, ignore_errors=True)
    faults = tuple(_written(session, trace, parts, files, unfinished))
    size = sum(path.stat().st_size for path in (unfinished / PARTS).iterdir())
    if faults:
        shutil.rmtree(unfinished)
    else:
        if folder.exists():
            folder.rename(replaced)
        unfinished.rename(folder)
        sync_folder(folder.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    return Downloaded(trace.client_id, folder, len(parts), size, sealed=trace.sealed_us is not None, faults=faults)


def _parts(session: Session, trace: Trace, key: bytes) -> list[_Part]:
    """The parts that a trace must have: those in its manifest, or without a manifest those that arrived."""
    rows = session.scalars(select(TracePart).where(TracePart.trace_id == trace.id).order_by(TracePart.number))
    arrived = {row.number: _Part(row.number, row.sha256, row.digest) for row in rows}
    if trace.manifest is None:
        return list(arrived.values())
    said = listed_digests(key, trace.manifest)
    return [_Part(each, arrived[each].sha256 if each in arrived else "", digest) for each, digest in said.items()]


def _written(session: Session, trace: Trace, parts: Sequence[_Part], files: TraceFiles, folder: Path) -> Iterator[str]:
    """Write a trace's folder, and yield the faults of its parts."""
    (folder / PARTS).mkdir(parents=True)
    for part in parts:
        to = folder / PARTS / f"{part.number:06}.parquet"
        try:
            stored = files.storage.read(Part(UUID(trace.client_id), part.number, part.sha256))
            content = seal_of(trace, part.number, files.key).opened(stored)
        except FileNotFoundError:
            yield f"part {part.number} is missing"
            continue
        except SealError as error:
            yield f"part {part.number} {error}"
            continue
        _write(to, content)
        if part_digest(files.key, len(content), hashlib.sha256(content).hexdigest()) != part.digest:
            yield f"part {part.number} is not as the meter sent it: its SHA-256 differs"
    manifest: dict[str, Any] = trace.manifest or {}
    _write(folder / HEADER, json.dumps(trace.header).encode())
    _write(folder / GAPS, "".join(f"{json.dumps(gap)}\n" for gap in manifest.get("gaps", ())).encode())
    _write(folder / CLOCKS, "".join(f"{json.dumps(line)}\n" for line in _clocks(session, trace)).encode())
    if trace.manifest is not None:
        _write(folder / MANIFEST, json.dumps(trace.manifest).encode())
    for each in (folder / PARTS, folder):
        sync_folder(each)


def _clocks(session: Session, trace: Trace) -> Iterator[dict[str, Any]]:
    clock = trace.header["clock"]
    mine = select(ClockEstimate).where(ClockEstimate.device_id == trace.device_id, ClockEstimate.clock == clock)
    for each in session.scalars(mine.order_by(ClockEstimate.device_us)):
        yield {
            "clock": clock,
            "monotonic_us": each.device_us,
            "offset_us": each.offset_us,
            "uncertainty_us": each.uncertainty_us,
        }


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        sync_file(file)
