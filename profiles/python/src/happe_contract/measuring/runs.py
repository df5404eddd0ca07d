# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures runs: each one's figure, and its watts second by second, as in power-measures.schema.json."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from happe_contract.measuring.budget import COVERAGE_FACTOR
from happe_contract.measuring.energy import Figure, Interval
from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.rig import columns
from happe_contract.measuring.session import Session, Times, TraceError
from happe_contract.rig import Rig
from happe_contract.server_time import Part
from happe_contract.traces import Block, Measures

FORMAT = "happe-power-measures/1"
LONGEST = 1000  # characters of a text in the document
MOST_NOTES = 100
MOST_W = 100_000.0  # the most watts of a machine, of one of its seconds, and of an uncertainty
MOST_SECONDS = 86_400
DIGITS = 3  # of watts in a second


class StudyRun(NamedTuple):
    """A complete run at a laptop, between two times of the server in microseconds.

    `by_record`: the times are those of the run's record, with the errors in the parts. Otherwise they are the times at
    which the server heard of the start and the end.
    """

    run: str
    laptop: str
    begin_us: int
    end_us: int
    by_record: bool = False
    begin_parts: tuple[Part, ...] = ()
    end_parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A run with its figure from a trace, or the reason why it has none."""

    run: StudyRun
    found: Figure | Refusal
    session: Session | None = None
    seconds_w: tuple[float | None, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the figure; empty without a figure."""
        return (
            () if self.session is None or isinstance(self.found, Refusal) else (*self.session.notes, *self.found.notes)
        )

    def document(self) -> dict[str, Any]:
        """The measure as in power-measures.schema.json."""
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
            "instrument": {name: self.session.trace.header["source"][name] for name in ("kind", "device")},
        }
        if self.notes:
            document["notes"] = [note[:LONGEST] for note in self.notes[:MOST_NOTES]]
        return document | ({"seconds_w": list(self.seconds_w)} if self.seconds_w else {})


def measured(run: StudyRun, session: Session, limits: Limits) -> Measured:
    """Measure a run by a trace of its laptop."""
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
    """Refuse a figure that can't be a machine's power, such as NaN; None: it can."""
    help_ = "look at the shunt's polarity, its zero and the calibration record"
    if not 0 < found.mean_w <= MOST_W:
        return Refusal(Why.NO_POWER, f"the mean is {found.mean_w:.6g} W, which is impossible; {help_}")
    if not found.budget.expanded <= MOST_W:
        return Refusal(Why.NO_POWER, f"the mean is uncertain by {found.budget.expanded:.6g} W; {help_}")
    if not all(watts is None or abs(watts) <= MOST_W for watts in seconds_w):
        return Refusal(Why.NO_POWER, f"a second of it has more than {MOST_W:.0f} W; {help_}")
    return None


class Seconds:
    """The mean watts of each whole second of an interval, from blocks that pass through."""

    def __init__(self, rig: Rig, interval: Interval) -> None:
        """Begin without samples."""
        self._rig, self._interval = rig, interval
        self._sums = np.zeros(max(0, int(interval.seconds)))
        self._counts = np.zeros(len(self._sums))

    def watched(self, blocks: Iterable[Block]) -> Iterator[Block]:
        """Pass the blocks on, and add their samples."""
        for block in blocks:
            if self._rig.channel.measures is not Measures.ENERGY:
                self._add(block)
            yield block

    def means(self) -> tuple[float | None, ...]:
        """The seconds' watts, None for a second without samples; empty for a counter, or for more than a day."""
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
