# SPDX-License-Identifier: GPL-2.0-or-later
"""Power of a stretch of a trace, for a chart: columns from summaries, or single samples from the parts.

Memory holds only a piece of a part and the columns, however long the stretch is. If the time allowed is too short for
all parts, the next request reads the others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from happe_contract.parts import BadPartError
from happe_contract.time_base import TimeBase, time_base
from happe_study.evidence.traces.part_files import footer_of_part
from happe_study.evidence.traces.summaries import Bins, Source, known, made, reckoned, step_of, watts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from happe_contract.parts import Footer
    from happe_contract.traces import Gap
    from happe_study.evidence.traces.watts import Meter

THREADS = 2
MOST_LONGER, MORE_ROWS = 2, 1000  # a part may have this factor times the rows of its rate and length, plus MORE_ROWS
Span = tuple[float, float]


@dataclass(frozen=True)
class Stretch:
    """Watts of a stretch of positions (indices with fractions), from `begin` to `end`.

    `columns`: a row (begin, lowest, highest, mean, number of samples) for each column with samples; columns are `width`
    positions wide. With `single`, each column is one sample. `gaps` have no samples, the next request reads `unread`,
    and `bad` names unreadable parts.
    """

    begin: float
    end: float
    width: float
    columns: NDArray[np.float64]
    single: bool
    samples: int
    joules_hz: float  # the sum of all samples' watts
    gaps: tuple[Span, ...]
    unread: tuple[Span, ...]
    bad: tuple[str, ...]

    @property
    def mean_w(self) -> float | None:
        """Mean watts of the samples; None if there are none."""
        return self.joules_hz / self.samples if self.samples else None

    @property
    def lost(self) -> float:
        """The number of positions in gaps."""
        return sum(end - begin for begin, end in self.gaps)

    @property
    def coverage(self) -> float:
        """The share of the stretch that has samples, 0 to 1."""
        return min(1.0, self.samples / (self.end - self.begin))


@dataclass
class Recording:
    """The parts of a trace around an interval of the meter's clock. `now` is a clock in seconds, for `until`."""

    sources: Sequence[Source]  # by number
    meter: Meter
    started_us: int
    part_us: int
    now: Callable[[], float]
    keep: bool = True
    bad: dict[int, str] = field(default_factory=dict)
    _read: dict[int, tuple[Footer, Bins | None]] = field(default_factory=dict)

    def around(self, begin_us: float, end_us: float) -> Recording | None:
        """A recording of only those parts that may have samples of an interval; None if there are none."""
        first = bisect_right(self.sources, begin_us, key=self._begins_us)
        last = bisect_left(self.sources, end_us, key=self._begins_us)
        near = [each for each in self.sources[max(0, first - 2) : last + 1] if self._footer(each)]
        fit = [each for each in near if self._covers(each, begin_us, end_us)]
        if not fit:
            return None
        known_footers = {each.number: self._read[each.number] for each in fit}
        return Recording(
            fit, self.meter, self.started_us, self.part_us, self.now, self.keep, dict(self.bad), known_footers
        )

    @cached_property
    def gaps(self) -> list[tuple[int, int]]:
        """The gaps between the parts' indices: (first missing index, first index after the gap)."""
        runs = sorted(run for each in self._footers() for run in each.runs)
        edges = pairwise((first, first + rows) for first, rows in runs)
        return [(end, begin) for (_, end), (begin, _) in edges if end < begin]

    def time_base(self, gaps: Sequence[Gap]) -> TimeBase:
        """The conversion from indices to the meter's clock. `gaps`: the trace's gaps within this recording."""
        pairs = [pair for each in self._footers() for pair in each.time_base]
        return time_base(pairs, gaps, self.meter.rate_hz)

    def stretch(self, begin: float, end: float, most_columns: int, until: float) -> Stretch:
        """Watts from position `begin` to `end`, both rounded to a hundredth of a sample."""
        begin, end = round(begin, 2), round(end, 2)
        step = step_of(self.meter.rate_hz)
        mine = [each for each in self.sources if self._overlaps(each, begin, end)]
        if step > 1 and end - begin < most_columns * step:
            narrow = max(1, int((end - begin) / most_columns))
            return self._gathered(begin, end, most_columns, self._from_parts(mine, begin, end, narrow), [])
        return self._gathered(begin, end, most_columns, *self._from_summaries(mine, until))

    def _gathered(
        self, begin: float, end: float, most_columns: int, pieces: Iterable[Bins], unread: list[Source]
    ) -> Stretch:
        single = end - begin <= most_columns
        width = 1.0 if single else (end - begin) / most_columns
        columns = _Columns(np.floor(begin) if single else begin, width, int(np.ceil((end - begin) / width)) + single)
        for each in pieces:
            columns.add(each, begin, end)
        spans = [_within(self._span(each), begin, end) for each in unread]
        return Stretch(
            begin,
            end,
            width,
            columns.rows(),
            single,
            columns.samples,
            columns.total,
            tuple(self._gaps(begin, end)),
            tuple(spans),
            tuple(self.bad[number] for number in sorted(self.bad)),
        )

    def _from_parts(self, mine: list[Source], begin: float, end: float, step: int) -> list[Bins]:
        found = []
        for each in mine:
            stretches = watts_of(each, self._read[each.number][0], self.meter, int(begin), int(np.ceil(end)))
            try:
                found.append(reckoned(stretches, step))
            except BadPartError as error:
                self.bad[each.number] = str(error)
        return found

    def _from_summaries(self, mine: list[Source], until: float) -> tuple[list[Bins], list[Source]]:
        """The bins that are known or could be computed in time, and the parts left. Always reads one part or more."""
        todo = [each for each in mine if self._read[each.number][1] is None and each.number not in self.bad]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda each: self._summarise(each, until if each is not todo[0] else None), todo))
        found = [self._read[each.number][1] for each in mine]
        unread = [each for each in todo if self._read[each.number][1] is None and each.number not in self.bad]
        return [each for each in found if each is not None], unread

    def _summarise(self, source: Source, until: float | None) -> None:
        if until is not None and self.now() >= until:
            return
        try:
            self._read[source.number] = made(source, self.meter, keep=self.keep)
        except BadPartError as error:
            self.bad[source.number] = str(error)

    def _gaps(self, begin: float, end: float) -> Iterable[Span]:
        runs = [run for each in self._footers() for run in each.runs]
        edges = [(begin, begin), *((first, first + rows) for first, rows in runs), (end, end)]
        for (_, before), (after, _) in pairwise(edges):
            span = _within((before, after), begin, end)
            if span[1] - span[0] > 1:
                yield span

    def _footers(self) -> list[Footer]:
        return [self._read[each.number][0] for each in self.sources]

    def _footer(self, source: Source) -> Footer | None:
        if source.number in self.bad:
            return None
        if source.number not in self._read:
            try:
                found = known(source) or (_footer_of(source), None)
                self._require_possible(found[0], source.number)
                self._read[source.number] = found
            except BadPartError as error:
                self.bad[source.number] = str(error)
                return None
        return self._read[source.number][0]

    def _require_possible(self, found: Footer, number: int) -> None:
        """Raise BadPartError for too many rows: a file of a few bytes can contain billions of equal rows."""
        most = MOST_LONGER * self.meter.rate_hz * self.part_us / 1e6 + MORE_ROWS
        if found.rows > most or len(found.time_base) > most:
            raise BadPartError(f"part {number} has more rows than {self.part_us / 1e6:g} s can have")

    def _begins_us(self, source: Source) -> float:
        """The approximate begin of a part, from its first time pair; if it can't be read, from its number."""
        found = self._footer(source)
        if found is None:
            return self.started_us + source.number * self.part_us
        pair = found.time_base[0]
        return pair.monotonic_us - (pair.index - found.first_index) * 1e6 / self.meter.rate_hz

    def _covers(self, source: Source, begin_us: float, end_us: float) -> bool:
        found = self._read[source.number][0]
        begins = self._begins_us(source)
        return begins < end_us and begins + (found.end_index - found.first_index) * 1e6 / self.meter.rate_hz > begin_us

    def _span(self, source: Source) -> Span:
        found = self._read[source.number][0]
        return found.first_index, found.end_index

    def _overlaps(self, source: Source, begin: float, end: float) -> bool:
        first, last = self._span(source)
        return first < end and last > begin


class _Columns:
    """The columns of a chart, filled from bins."""

    def __init__(self, begin: float, width: float, many: int) -> None:
        self._begin, self._width = begin, width
        self._low, self._high = np.full(many, np.inf), np.full(many, -np.inf)
        self._total, self._count = np.zeros(many), np.zeros(many)

    def add(self, bins: Bins, begin: float, end: float) -> None:
        """Add the bins that begin between two positions."""
        a, b = np.searchsorted(bins.first, [np.floor(begin), end])
        if a == b:
            return
        at = ((bins.first[a:b] - self._begin) // self._width).astype(np.int64).clip(0, len(self._low) - 1)
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        here = at[starts]
        self._low[here] = np.minimum(self._low[here], np.minimum.reduceat(bins.low[a:b], starts))
        self._high[here] = np.maximum(self._high[here], np.maximum.reduceat(bins.high[a:b], starts))
        self._total[here] += np.add.reduceat(bins.total[a:b], starts)
        self._count[here] += np.add.reduceat(bins.count[a:b], starts)

    @property
    def samples(self) -> int:
        """The number of samples added."""
        return int(self._count.sum())

    @property
    def total(self) -> float:
        """The sum of the watts of all samples added."""
        return float(self._total.sum())

    def rows(self) -> NDArray[np.float64]:
        """Begin, lowest, highest, mean and number of each column with samples."""
        there = np.flatnonzero(self._count)
        count = self._count[there]
        begins = self._begin + there * self._width
        return np.stack([begins, self._low[there], self._high[there], self._total[there] / count, count], axis=1)


def _footer_of(source: Source) -> Footer:
    return footer_of_part(source.opened, source.seal.trace, source.number)


def _within(span: Span, begin: float, end: float) -> Span:
    return min(max(span[0], begin), end), max(min(span[1], end), begin)
