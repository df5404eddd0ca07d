# SPDX-License-Identifier: GPL-2.0-or-later
"""Power of a stretch of a trace, for a chart: columns of samples, or single samples, read from the parts.

The header's rig (happe_contract.rig) gives the watts. `happe-power measure` gives figures with their uncertainty.
Memory holds only a part and the columns, however long the stretch is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from happe_contract.calibration import from_header
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.parts import BadPartError, Footer
from happe_contract.rig import Rig, channels_of, rig_of, values
from happe_contract.strict_json import Json
from happe_contract.time_base import TimeBase, time_base
from happe_contract.traces import Gap, Measures
from happe_study.study.traces.parts import cut, footer_of_part, opened, samples
from happe_study.study.traces.sealed import Seal
from happe_study.study.traces.storage import Part, Storage

LACKS = {
    Why.NO_CHANNEL: "no channel gives watts",
    Why.NO_SHUNT: "the shunt was never measured",
    Why.NO_SUPPLY: "the supply is neither measured nor stated",
}
ONE = np.ones(1)


class NoPowerError(Exception):
    """The header is not enough to compute watts; the message says why."""


@dataclass(frozen=True)
class Meter:
    """The channels of a trace that give watts."""

    rig: Rig
    rate_hz: float

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The needed columns of a part: (name, type)."""
        return tuple((each.name, each.dtype.name) for each in (self.rig.channel, self.rig.supply) if each)

    def watts(self, raw: tuple[NDArray[np.generic], ...]) -> NDArray[np.float64]:
        """The watts of samples without a gap. The last sample of a counter of joules gets NaN."""
        x = values(self.rig.channel, raw[0])
        if self.rig.channel.measures is Measures.ENERGY:
            return np.append(self.rig.power(np.diff(x) * self.rate_hz, ONE), np.nan)
        return self.rig.power(x, values(self.rig.supply, raw[1]) if self.rig.supply else ONE)


def meter_of(header: Json) -> Meter:
    """The meter of a checked header. Raises NoPowerError."""
    rig = rig_of(channels_of(header), from_header(header["calibration"]))
    if isinstance(rig, Refusal):
        raise NoPowerError(LACKS[rig.why])
    return Meter(rig, float(header["rate_hz"]))


MOST_LONGER, MORE_ROWS = 2, 1000  # a part may have this factor times the rows of its rate and length, plus MORE_ROWS
Span = tuple[float, float]


@dataclass(frozen=True)
class Source:
    """A part to read: its store and its seal."""

    storage: Storage
    part: Part
    seal: Seal

    @property
    def number(self) -> int:
        """The part's number."""
        return self.seal.number

    def opened(self) -> pa.Buffer:
        """Open the part. Raises BadPartError, AwayError."""
        return opened(self.storage, self.part, self.seal)


@dataclass(frozen=True)
class Stretch:
    """Watts of a stretch of positions (indices with fractions), from `begin` to `end`.

    `columns`: a row (begin, lowest, highest, mean, number of samples) for each column with samples; columns are `width`
    positions wide. With `single`, each column is one sample. `gaps` have no samples, and `bad` names unreadable parts.
    """

    begin: float
    end: float
    width: float
    columns: NDArray[np.float64]
    single: bool
    samples: int
    joules_hz: float  # the sum of all samples' watts
    gaps: tuple[Span, ...]
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
    """The parts of a trace around an interval of the meter's clock."""

    sources: Sequence[Source]  # by number
    meter: Meter
    started_us: int
    part_us: int
    bad: dict[int, str] = field(default_factory=dict)
    _read: dict[int, Footer] = field(default_factory=dict)

    def around(self, begin_us: float, end_us: float) -> "Recording | None":
        """A recording of only those parts that may have samples of an interval; None if there are none."""
        first = bisect_right(self.sources, begin_us, key=self._begins_us)
        last = bisect_left(self.sources, end_us, key=self._begins_us)
        near = [each for each in self.sources[max(0, first - 2) : last + 1] if self._footer(each)]
        fit = [each for each in near if self._covers(each, begin_us, end_us)]
        if not fit:
            return None
        known_footers = {each.number: self._read[each.number] for each in fit}
        return Recording(fit, self.meter, self.started_us, self.part_us, dict(self.bad), known_footers)

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

    def stretch(self, begin: float, end: float, most_columns: int) -> Stretch:
        """Watts from position `begin` to `end`, both rounded to a hundredth of a sample."""
        begin, end = round(begin, 2), round(end, 2)
        single = end - begin <= most_columns
        width = 1.0 if single else (end - begin) / most_columns
        columns = _Columns(np.floor(begin) if single else begin, width, int(np.ceil((end - begin) / width)) + single)
        for source in self.sources:
            if self._overlaps(source, begin, end):
                try:
                    for first, watts in self._watts(source, int(np.floor(begin)), int(np.ceil(end))):
                        columns.add(first, watts)
                except BadPartError as error:
                    self.bad[source.number] = str(error)
        return Stretch(
            begin,
            end,
            width,
            columns.rows(),
            single,
            columns.samples,
            columns.total,
            tuple(self._gaps(begin, end)),
            tuple(self.bad[number] for number in sorted(self.bad)),
        )

    def _watts(self, source: Source, begin: int, end: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """First index and watts of each stretch without gaps, from index `begin` to `end` - 1. Raises BadPartError."""
        footer = self._read[source.number]
        for row, columns in samples(source.opened(), source.number, self.meter.columns):
            for first, rows in cut(footer, row, len(columns[0]), (begin, end)):
                yield first, self.meter.watts(tuple(each[rows] for each in columns))

    def _gaps(self, begin: float, end: float) -> Iterable[Span]:
        runs = [run for each in self._footers() for run in each.runs]
        edges = [(begin, begin), *((first, first + rows) for first, rows in runs), (end, end)]
        for (_, before), (after, _) in pairwise(edges):
            span = _within((before, after), begin, end)
            if span[1] - span[0] > 1:
                yield span

    def _footers(self) -> list[Footer]:
        return [self._read[each.number] for each in self.sources]

    def _footer(self, source: Source) -> Footer | None:
        if source.number in self.bad:
            return None
        if source.number not in self._read:
            try:
                found = footer_of_part(source.opened(), source.seal.trace, source.number)
                self._require_possible(found, source.number)
                self._read[source.number] = found
            except BadPartError as error:
                self.bad[source.number] = str(error)
                return None
        return self._read[source.number]

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
        found = self._read[source.number]
        begins = self._begins_us(source)
        return begins < end_us and begins + (found.end_index - found.first_index) * 1e6 / self.meter.rate_hz > begin_us

    def _overlaps(self, source: Source, begin: float, end: float) -> bool:
        found = self._read[source.number]
        return found.first_index < end and found.end_index > begin


class _Columns:
    """The columns of a chart, filled from samples."""

    def __init__(self, begin: float, width: float, many: int) -> None:
        self._begin, self._width = begin, width
        self._low, self._high = np.full(many, np.inf), np.full(many, -np.inf)
        self._total, self._count = np.zeros(many), np.zeros(many)

    def add(self, first: int, watts: NDArray[np.float64]) -> None:
        """Add samples from index `first` on. It leaves out NaN and infinity."""
        known = np.flatnonzero(np.isfinite(watts))
        if not len(known):
            return
        at = ((first + known - self._begin) // self._width).astype(np.int64).clip(0, len(self._low) - 1)
        starts = np.flatnonzero(np.diff(at, prepend=-1))
        here, values = at[starts], watts[known]
        self._low[here] = np.minimum(self._low[here], np.minimum.reduceat(values, starts))
        self._high[here] = np.maximum(self._high[here], np.maximum.reduceat(values, starts))
        self._total[here] += np.add.reduceat(values, starts)
        self._count[here] += np.diff(starts, append=len(values))

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


def _within(span: Span, begin: float, end: float) -> Span:
    return min(max(span[0], begin), end), max(min(span[1], end), begin)
