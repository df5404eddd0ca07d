# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a trace's folder (SPOOL/STUDY/UUID), and ends traces that a recorder left open."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from happe_cli.disk import sync_folder
from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_power.recording import closing
from happe_power.recording.files import locked, write_all
from happe_power.recording.header import FOLDERS, Layout, compact, layout_of
from happe_power.recording.indices import from_json
from happe_power.trace import Trace, TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from happe_contract.traces import TimePair

NEW = ".new"


@dataclass
class Open:
    """A trace under way, and the lock that is held on it. `started` is the header's."""

    layout: Layout
    started: TimePair
    lock: ExitStack

    def end(self) -> None:
        """Write the manifest, then release the lock. Raises OSError, closing.EndError; may be called again."""
        closing.end(self.layout, self.started)
        self.lock.close()
        shutil.rmtree(self.layout.lock.parent, ignore_errors=True)


@dataclass(frozen=True)
class Recovered:
    """A trace found open. `problem`: why the recovery could not end it; empty: it now has its manifest."""

    folder: Path
    problem: str = ""


def create(study: Path, layout: Layout, header: Mapping[str, Any], beside: Mapping[str, bytes]) -> Open:
    """Make a trace's folder, header and files `beside` it in one step. Raises OSError, BadDocumentError."""
    schemas.check(schemas.Kind.POWER_TRACE, header)
    study.mkdir(parents=True, exist_ok=True)
    new = replace(layout, folder=study / f".{layout.trace}{NEW}")
    lock = ExitStack()
    try:
        for name in FOLDERS:
            (new.folder / name).mkdir(parents=True)
        lock.enter_context(locked(new.lock))
        files = {new.folder / name: content for name, content in beside.items()}
        write_all(files | {new.folder / "header.json": compact(header)})
        new.folder.rename(layout.folder)
        sync_folder(study)
    except OSError:
        lock.close()
        shutil.rmtree(new.folder, ignore_errors=True)
        raise
    return Open(layout, from_json(header["started"]), lock)


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
        layout = layout_of(trace := Trace.open(folder))
        layout.lock.parent.mkdir(exist_ok=True)
        with ExitStack() as stack:
            if not stack.enter_context(locked(layout.lock)):
                return
            Open(layout, trace.started, stack).end()
        yield Recovered(folder)
    except OSError as error:
        yield Recovered(folder, f"{error.filename or folder}: {error.strerror or error}")
    except (TraceError, closing.EndError, BadDocumentError) as error:
        yield Recovered(folder, str(error))
