# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures runs from the folders of several traces, and finds the trace that covers each run."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.runs import Measured
from happe_contract.measuring.runs import measured as measured_by
from happe_contract.measuring.session import Times, TraceError
from happe_contract.measuring.zeros import HAVE_A_ZERO
from happe_power import figures
from happe_power.recording import zero_check
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from happe_contract.measuring.refusal import Limits
    from happe_contract.measuring.runs import StudyRun
    from happe_contract.measuring.session import Session

UNCHECKED = (
    f"there is no zero check: if the measuring host made one, {zero_check.NAME} is in its spool; "
    "name that spool with --trace, too"
)


class How(NamedTuple):
    """How a trace's watts are computed: see figures.session."""

    record: Path | None = None
    channel: str | None = None
    own_clock: bool = False


class Covered:
    """A trace, and the server's times that it covers. Its first use makes its session."""

    def __init__(self, trace: Trace, how: How, zeros: Path | None = None) -> None:
        """Read only the header yet. `zeros`: the file of its zero checks, if it is not in the trace's folder."""
        self.trace = trace
        self.laptop = str(trace.header["measured"])
        self._how, self._zeros = how, zeros

    @cached_property
    def session(self) -> Session | Refusal:
        """The session, or why this trace gives no figures, such as a damaged file. Raises TomlFileError."""
        try:
            found = figures.session(self.trace, **self._how._asdict(), zeros=self._zeros)
        except TraceError as error:
            return Refusal(Why.NO_SAMPLES, str(error))
        if isinstance(found, Refusal) or found.checks.readings or found.rig.channel.measures not in HAVE_A_ZERO:
            return found
        return found._replace(notes=(*found.notes, UNCHECKED))

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """The trace's start and end in the server's time, in microseconds; None: unknown."""
        if isinstance(self.session, Refusal):
            return None
        whole = self.session.interval(Times())
        return whole.begin.server_us, whole.end.server_us

    def shares(self, run: StudyRun) -> int:
        """How many microseconds of a run the trace covers."""
        begin, end = self.span or (0, 0)
        return max(0, min(end, run.end_us) - max(begin, run.begin_us))


def opened(folders: Iterable[Path], how: How) -> list[Covered]:
    """The traces of these folders, each once, by their ids. Raises TraceError.

    A trace may be in several folders: a download has no zero checks, and the spool may have no parts any more.
    """
    copies: dict[str, list[Trace]] = {}
    for trace in map(Trace.open, folders):
        copies.setdefault(trace.id, []).append(trace)
    return [_covered(copies[name], how) for name in sorted(copies)]


def _covered(copies: Sequence[Trace], how: How) -> Covered:
    """Choose the copy of a trace with most parts, at best an ended one, and the zero checks of any copy."""
    best = max(copies, key=lambda each: (len(each.numbers), (each.folder / "manifest.json").exists()))
    zeros = (each.folder / zero_check.NAME for each in (best, *copies))
    return Covered(best, how, next((path for path in zeros if path.exists()), None))


def measured(runs: Iterable[StudyRun], traces: Sequence[Covered], limits: Limits) -> Iterator[Measured]:
    """Measure each run by that trace of its laptop which covers most of the run. Raises TomlFileError."""
    for run in runs:
        mine = [each for each in traces if each.laptop == run.laptop]
        best = max(mine, key=lambda each: each.shares(run), default=None)
        if best is None or isinstance(best.session, Refusal) or not best.shares(run):
            yield Measured(run, _uncovered(run, mine))
        else:
            yield measured_by(run, best.session, limits)


def _uncovered(run: StudyRun, mine: Sequence[Covered]) -> Refusal:
    if not mine:
        return Refusal(Why.NO_SAMPLES, f"no trace of laptop {run.laptop} was given")
    without = [f"{each.trace.id}: {each.session.detail}" for each in mine if isinstance(each.session, Refusal)]
    said = f"no trace of laptop {run.laptop} was recorded meanwhile"
    return Refusal(Why.NO_SAMPLES, "; ".join([said, *without]))
