# SPDX-License-Identifier: GPL-2.0-or-later
"""A sealed trace in the server's store, for the arithmetic of power. Only one part is in memory at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

import pyarrow as pa

from happe_contract.calibration import from_header
from happe_contract.cuts import Clocks
from happe_contract.measuring.refusal import Refusal
from happe_contract.measuring.runs import StudyRun
from happe_contract.measuring.session import NOMINAL, Session, TraceError
from happe_contract.measuring.zeros import NO_CHECKS
from happe_contract.parts import BadPartError, Footer
from happe_contract.rig import channels_of, rig_of
from happe_contract.server_time import ServerClock
from happe_contract.strict_json import Json
from happe_contract.time_base import is_nominal, time_base
from happe_contract.traces import Block, TimePair
from happe_study.study.traces.manifest import gaps_of, pairs_of
from happe_study.study.traces.parts import cut, footer_of_part, opened, samples
from happe_study.study.traces.sealed import Seal
from happe_study.study.traces.storage import Part, Storage

AROUND_S = 60  # seconds around a run whose time pairs are read; a minute is enough to know the sample rate


@dataclass(frozen=True)
class _Kept:
    """A part's number and its indices, from the manifest: `first` to `end` - 1."""

    number: int
    first: int
    end: int


class StoredTrace:
    """A trace with its header and manifest. `seal` opens its parts, with each part's number in place of its own."""

    def __init__(self, header: Json, manifest: Json, seal: Seal, storage: Storage, digests: Mapping[int, str]) -> None:
        """Read no part yet. `digests`: SHA-256 of the sealed files, by the part's number."""
        self.id = str(header["id"])
        self.header = header
        self.end_index = int(manifest["end_index"])
        self.gaps, self._told = gaps_of(manifest), pairs_of(header, manifest)
        self.started = self._told[0]
        self._parts = _kept(manifest["parts"], self.end_index)
        self._seal, self._storage, self._digests = seal, storage, digests
        self._channels = channels_of(header)
        self._rate_hz = float(header["rate_hz"])
        self._footers: dict[int, Footer] = {}
        self._open: tuple[int, pa.Buffer] | None = None

    def session(self, run: StudyRun, server: ServerClock) -> Session | Refusal:
        """Prepare the trace for measuring a run, from the parts around the run. Raises TraceError."""
        calibration = from_header(self.header["calibration"])
        rig = rig_of(self._channels, calibration)
        if isinstance(rig, Refusal):
            return rig
        pairs = self._pairs(run, server)
        nominal = self.header["source"]["kind"] == "file" and is_nominal(pairs, self._rate_hz)
        gaps = [gap for gap in self.gaps if gap.from_index < pairs[-1].index and gap.to_index > pairs[0].index]
        clocks = Clocks(time_base(pairs, gaps, self._rate_hz, nominal=nominal), server)
        return Session(self, rig, calibration, clocks, NO_CHECKS, (NOMINAL,) if nominal else ())

    def blocks(self, from_index: int, to_index: int) -> Iterator[Block]:
        """The samples from `from_index` to `to_index`, in blocks without gaps, in order. Raises TraceError."""
        for part in self._between(from_index, to_index):
            footer = self._footer(part.number)
            columns = [(each.name, each.dtype.name) for each in self._channels]
            try:
                for start, found in samples(self._part(part.number), part.number, columns):
                    for first, rows in cut(footer, start, len(found[0]), (from_index, to_index)):
                        yield Block(first, tuple(column[rows] for column in found))
            except BadPartError as error:
                raise TraceError(str(error)) from None

    def _pairs(self, run: StudyRun, server: ServerClock) -> list[TimePair]:
        """Pairs of index and time around a run, by index. Parts have more pairs than the manifest."""
        rough = time_base(self._told, self.gaps, self._rate_hz)
        begin, end = (rough.position(server.monotonic_us(us)) for us in (run.begin_us, run.end_us))
        away = AROUND_S * self._rate_hz
        near = self._between(begin - away, end + away)
        pairs = {pair for part in near for pair in self._footer(part.number).time_base}
        return sorted(pairs or self._told, key=lambda pair: (pair.index, pair.monotonic_us))

    def _between(self, begin: float, end: float) -> list[_Kept]:
        return [part for part in self._parts if part.first < end and part.end > begin]

    def _footer(self, number: int) -> Footer:
        if number not in self._footers:
            try:
                self._footers[number] = footer_of_part(self._part(number), self.id, number)
            except BadPartError as error:
                raise TraceError(str(error)) from None
        return self._footers[number]

    def _part(self, number: int) -> pa.Buffer:
        """Open a part, after dropping the last one from memory. Raises TraceError."""
        if self._open is None or self._open[0] != number:
            self._open = None
            try:
                part = Part(UUID(self.id), number, self._digests.get(number, ""))
                self._open = number, opened(self._storage, part, replace(self._seal, number=number))
            except BadPartError as error:
                raise TraceError(str(error)) from None
        return self._open[1]


def _kept(listed: list[Json], end_index: int) -> list[_Kept]:
    """The parts of a manifest. Each part ends where the next begins, even if a gap lies between them."""
    firsts = [each["first_index"] for each in listed]
    ends = [*firsts[1:], end_index]
    return [_Kept(each["number"], first, end) for each, first, end in zip(listed, firsts, ends, strict=True)]
