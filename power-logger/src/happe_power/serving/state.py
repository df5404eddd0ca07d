# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds out what the latest recording of a spool does, from live.json (each second) and gaps.jsonl (each part)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from happe_power.recording.live import LIVE
from happe_power.trace import Trace, TraceError

if TYPE_CHECKING:
    from pathlib import Path

    from happe_contract.traces import Gap

RUNS_WITHIN_S = 5.0
MOST_GAPS = 20


@dataclass(frozen=True)
class State:
    """A recording: its trace, the figures of its latest second and their age, and its gaps up to the last closed part.

    `gaps` are the latest ones, newest first.
    """

    trace: str
    study: str
    instrument: str
    kind: str
    figures: dict[str, Any]
    age_s: float
    gap_count: int
    gaps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def runs(self) -> bool:
        """Whether the recording goes on."""
        return self.age_s < RUNS_WITHIN_S and not self.figures.get("ended")

    def document(self) -> dict[str, Any]:
        """The state as a JSON object."""
        return {**vars(self), "runs": self.runs}


class Watched:
    """A spool that is looked into again and again. Reads gaps.jsonl again only if its size has changed."""

    def __init__(self, spool: Path) -> None:
        """Read nothing yet."""
        self._spool = spool
        self._trace: Trace | None = None
        self._gaps: tuple[int, list[Gap]] = (-1, [])

    def state(self) -> State | None:
        """The state of the latest recording; None: there was none. Raises TraceError."""
        found = [(seen, path) for path in self._spool.glob(f"*/*/{LIVE}") if (seen := _changed(path)) is not None]
        if not found:
            return None
        changed, path = max(found, key=lambda each: each[0])
        try:
            figures = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise TraceError(f"{path}: {error}") from None
        if self._trace is None or self._trace.folder != path.parent:
            self._trace, self._gaps = Trace.open(path.parent), (-1, [])
        trace = self._trace
        gaps = self._of(trace)
        source = trace.header["source"]
        told = [_told(gap, trace) for gap in reversed(gaps[-MOST_GAPS:])]
        age_s = max(0.0, time.time() - changed)
        study = str(trace.header["study"])
        return State(trace.id, study, source["device"], source["kind"], figures, age_s, len(gaps), told)

    def _of(self, trace: Trace) -> list[Gap]:
        path = trace.folder / "gaps.jsonl"
        size = path.stat().st_size if path.exists() else 0
        if size != self._gaps[0]:
            self._gaps = (size, Trace.open(trace.folder).gaps)
        return self._gaps[1]


def _changed(path: Path) -> float | None:
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def _told(gap: Gap, trace: Trace) -> dict[str, Any]:
    rate_hz = trace.rate_hz
    return {
        "at_s": round((gap.from_index - trace.started.index) / rate_hz, 3),
        "seconds": round((gap.to_index - gap.from_index) / rate_hz, 6),
        "samples": gap.to_index - gap.from_index,
        "reason": str(gap.reason),
    }
