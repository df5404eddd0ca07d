# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs measured from several traces: which trace has a run, its figure, and its watts second by second."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from happe_contract.traces import Measures
from happe_power import figures
from happe_power.arithmetic.budget import COVERAGE_FACTOR
from happe_power.arithmetic.refusal import Refusal, Why
from happe_power.arithmetic.rig import columns
from happe_power.figures import Session, Times
from happe_power.recording import zero_check
from happe_power.trace import Trace, TraceError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from happe_contract.rig import Rig
    from happe_contract.traces import Block
    from happe_power.arithmetic.energy import Figure, Interval
    from happe_power.arithmetic.refusal import Limits
    from happe_power.study_runs import StudyRun

FORMAT = "happe-power-measures/1"
LONGEST = 1000  # characters of what is said
MOST_NOTES = 100
MOST_W = 100_000.0  # of a machine, of one of its seconds, and of an uncertainty
MOST_SECONDS = 86_400
DIGITS = 3  # of watts in a second
UNCHECKED = (
    f"no zero check is here: if the measuring host made one, {zero_check.NAME} is in its spool, "
    "which can be named as --trace, too"
)


class How(NamedTuple):
    """How a trace's watts are reckoned: see figures.session."""

    record: Path | None = None
    channel: str | None = None
    own_clock: bool = False


class Covered:
    """A trace, with the times of the server's that it covers. Its session is made when it is first asked for."""

    def __init__(self, trace: Trace, how: How, zeros: Path | None = None) -> None:
        """Read no more than the header yet. `zeros`: its zero checks, if they are not beside it."""
        self.trace = trace
        self.laptop = str(trace.header["measured"])
        self._how, self._zeros = how, zeros

    @cached_property
    def session(self) -> Session | Refusal:
        """The session; or why there are no figures of this trace, such as a damaged file. Raises TomlFileError."""
        try:
            return figures.session(self.trace, **self._how._asdict(), zeros=self._zeros)
        except TraceError as error:
            return Refusal(Why.NO_SAMPLES, str(error))

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """From when to when it goes, by the server's time; None: nothing tells."""
        if isinstance(self.session, Refusal):
            return None
        whole = self.session.interval(Times())
        return whole.begin.server_us, whole.end.server_us

    def shares(self, run: StudyRun) -> int:
        """How many microseconds it has in common with a run."""
        begin, end = self.span or (0, 0)
        return max(0, min(end, run.end_us) - max(begin, run.begin_us))


@dataclass(frozen=True)
class Measured:
    """What became of a run: a figure of a trace, or why there is none."""

    run: StudyRun
    found: Figure | Refusal
    session: Session | None = None
    seconds_w: tuple[float | None, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be said of the figure; nothing where there is none."""
        if self.session is None or isinstance(self.found, Refusal):
            return ()
        unchecked = self.session.rig.channel.measures in zero_check.HAVE_A_ZERO and not self.session.checks.readings
        return (*self.session.notes, *self.found.notes, *((UNCHECKED,) if unchecked else ()))

    def document(self) -> dict[str, Any]:
        """The measure as power-measures.schema.json has it."""
        named = {"run": self.run.run, "laptop": self.run.laptop}
        if self.session is not None:
            named |= {"trace": self.session.trace.id, "meter": self.session.trace.header["meter"]}
        if isinstance(self.found, Refusal):
            return named | {"refused": f"{self.found.why}: {self.found.detail}"[:LONGEST]}
        assert self.session is not None  # noqa: S101 - there is a figure
        standing, says = self.session.standing(self.found)
        interval = self.found.interval
        document = named | {
            "from_us": interval.begin.server_us,
            "to_us": interval.end.server_us,
            "clock_bound_us": round(max(interval.begin.half_width_us, interval.end.half_width_us)),
            "mean_w": self.found.mean_w,
            "expanded_uncertainty": self.found.budget.expanded,
            "k": COVERAGE_FACTOR,
            "coverage": min(1.0, self.found.coverage),
            "calibration": {"standing": str(standing), "says": says[:LONGEST]},
        }
        if self.notes:
            document["notes"] = [note[:LONGEST] for note in self.notes[:MOST_NOTES]]
        return document | ({"seconds_w": list(self.seconds_w)} if self.seconds_w else {})


def opened(folders: Iterable[Path], how: How) -> list[Covered]:
    """The traces of these folders, each once, by their ids. Raises TraceError.

    A trace may be in several, as in a download, which has no zero checks, and in the spool, whose parts are deleted.
    """
    copies: dict[str, list[Trace]] = {}
    for trace in map(Trace.open, folders):
        copies.setdefault(trace.id, []).append(trace)
    return [_covered(copies[name], how) for name in sorted(copies)]


def _covered(copies: Sequence[Trace], how: How) -> Covered:
    """A trace by the copy with most parts, of two such by one that has ended, and zero checks of any."""
    best = max(copies, key=lambda each: (len(each.numbers), (each.folder / "manifest.json").exists()))
    zeros = (each.folder / zero_check.NAME for each in (best, *copies))
    return Covered(best, how, next((path for path in zeros if path.exists()), None))


def measured(runs: Iterable[StudyRun], traces: Sequence[Covered], limits: Limits) -> Iterator[Measured]:
    """Each run from the trace of its laptop that shares most of it. Raises TomlFileError."""
    for run in runs:
        mine = [each for each in traces if each.laptop == run.laptop]
        best = max(mine, key=lambda each: each.shares(run), default=None)
        if best is None or isinstance(best.session, Refusal) or not best.shares(run):
            yield Measured(run, _uncovered(run, mine))
        else:
            yield _measured(run, best.session, limits)


def _uncovered(run: StudyRun, mine: Sequence[Covered]) -> Refusal:
    if not mine:
        return Refusal(Why.NO_SAMPLES, f"no trace of laptop {run.laptop} was given")
    without = [f"{each.trace.id}: {each.session.detail}" for each in mine if isinstance(each.session, Refusal)]
    said = f"no trace of laptop {run.laptop} was recorded meanwhile"
    return Refusal(Why.NO_SAMPLES, "; ".join([said, *without]))


def _measured(run: StudyRun, session: Session, limits: Limits) -> Measured:
    times = Times(run.begin_us, run.end_us, run.begin_parts, run.end_parts)
    seconds = Seconds(session.rig, session.interval(times))
    try:
        found = session.figure(times, limits, seconds.watched)
    except TraceError as error:
        return Measured(run, Refusal(Why.NO_SAMPLES, str(error)), session)
    if isinstance(found, Refusal):
        return Measured(run, found, session)
    means = seconds.means()
    refusal = _no_power(found, means)
    return Measured(run, refusal, session) if refusal else Measured(run, found, session, means)


def _no_power(found: Figure, seconds_w: Sequence[float | None]) -> Refusal | None:
    """Why a figure can't be a machine's power; None: it can. NaN can't."""
    help_ = "look at the shunt's polarity, its zero and the calibration record"
    if not 0 < found.mean_w <= MOST_W:
        return Refusal(Why.NO_POWER, f"the mean is {found.mean_w:.6g} W, which no machine takes; {help_}")
    if not found.budget.expanded <= MOST_W:
        return Refusal(Why.NO_POWER, f"the mean is known to +- {found.budget.expanded:.6g} W only; {help_}")
    if not all(watts is None or abs(watts) <= MOST_W for watts in seconds_w):
        return Refusal(Why.NO_POWER, f"a second of it has more than {MOST_W:.0f} W; {help_}")
    return None


class Seconds:
    """Mean watts of each whole second of an interval, gathered from blocks that pass by."""

    def __init__(self, rig: Rig, interval: Interval) -> None:
        """Have seen nothing yet."""
        self._rig, self._interval = rig, interval
        self._sums = np.zeros(max(0, int(interval.seconds)))
        self._counts = np.zeros(len(self._sums))

    def watched(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """The same blocks."""
        for block in blocks:
            if self._rig.channel.measures is not Measures.ENERGY:
                self._add(block)
            yield block

    def means(self) -> tuple[float | None, ...]:
        """The seconds' watts, None where there are no samples; nothing of a counter, nor of more than a day."""
        if not self._counts.any() or len(self._counts) > MOST_SECONDS:
            return ()
        pairs = zip(self._sums, self._counts, strict=True)
        return tuple(round(float(total / count), DIGITS) if count else None for total, count in pairs)

    def _add(self, block: Block) -> None:
        for first, x, y in columns(self._rig, [block]):
            after = first + np.arange(len(x)) - self._interval.begin.position
            second = np.floor(after / self._interval.rate_hz).astype(np.int64)
            inside = (second >= 0) & (second < len(self._sums))
            watts = self._rig.power(x[inside], y[inside])
            self._sums += np.bincount(second[inside], weights=watts, minlength=len(self._sums))
            self._counts += np.bincount(second[inside], minlength=len(self._sums))
