# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps an instrument running: a stall or an unplugged instrument becomes a gap; it tries a restart each second."""

from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording import indices
from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.source import EndedError, FinalError, Reading, Source, SourceError, UnpluggedError

RETRY_US = 1_000_000
STALL_US = 3_000_000  # and at least five samples' time
STALL_SAMPLES = 5
NOTHING = Reading((), None)


class Tended:
    """A source as a stream of readings without holes. While the source fails, the clock gives the indices.

    `ended`: the source has no more samples.
    """

    def __init__(self, source: Source, clock: Clock | None = None) -> None:
        """Tend a source that is not started."""
        self.source = source
        self._trouble = ""
        self.ended = False
        self.next_index = 0
        self._clock = clock or SystemClock()
        self._stall_us = max(STALL_US, int(STALL_SAMPLES * 1e6 / source.rate_hz))
        self._reason: Reason | None = None
        self._retry_at = 0
        self._known = TimePair(0, 0, 0)
        self._heard_at = 0
        self._late = 0  # indices that passed during restarts, which the source did not count

    @property
    def trouble(self) -> str:
        """The present problem, for people; empty if there is none."""
        return self._trouble

    def start(self, first_index: int) -> TimePair:
        """Start the source; return the first sample's index and time. Raises SourceError."""
        pair = self.source.start(first_index)
        self._begun(pair, first_index)
        return pair

    def read(self, timeout_s: float) -> Reading:
        """Return new samples and gaps that continue the last reading. Raises no SourceError but FinalError."""
        if self._reason is not None:
            return self._missed(self._reason, timeout_s)
        try:
            reading = self.source.read(timeout_s)
        except EndedError:
            self.ended = True
            return NOTHING
        except FinalError:
            raise
        except SourceError as error:
            return self._failed(error)
        if reading.items:
            return self._heard(reading)
        if self._now_us() - self._heard_at >= self._stall_us:
            self._give_up(Reason.STALL, f"no sample for {self._stall_us / 1e6:.0f} s")
        return NOTHING

    def finish(self) -> Reading:
        """Stop the source. Return a gap for the samples missed up to now, if any."""
        reason = self._reason
        self._stop()
        return NOTHING if reason is None else Reading(self._gap(reason, self._now_us()), None)

    def _begun(self, pair: TimePair, index: int) -> None:
        """Note a start. The first sample has this index here; the source itself gives it the index of `pair`."""
        self._late = index - pair.index
        self.next_index, self._known, self._heard_at = index, _later(pair, self._late), self._now_us()

    def _heard(self, reading: Reading) -> Reading:
        reading = self._renumbered(reading)
        items = tuple(indices.continued(reading.items, self.next_index))
        if items:
            self.next_index = indices.span(items[-1])[1]
        self._heard_at = self._now_us()
        self._known = reading.at or self._known
        return Reading(items, reading.at)

    def _renumbered(self, reading: Reading) -> Reading:
        if not self._late:
            return reading
        items = tuple(_moved(item, self._late) for item in reading.items)
        return Reading(items, reading.at and _later(reading.at, self._late))

    def _failed(self, error: SourceError) -> Reading:
        unplugged = isinstance(error, UnpluggedError)
        self._give_up(Reason.UNPLUGGED if unplugged else Reason.STALL, str(error))
        self._retry_at = self._now_us() + RETRY_US
        return NOTHING

    def _give_up(self, reason: Reason, why: str) -> None:
        self._stop()
        self._reason, self._trouble, self._retry_at = reason, why, self._now_us()

    def _stop(self) -> None:
        """Stop the source. If the source is too broken for that, note why as the trouble."""
        try:
            self.source.stop()
        except SourceError as error:
            self._trouble = str(error)

    def _missed(self, reason: Reason, timeout_s: float) -> Reading:
        """Return a gap for the indices that passed without samples. Restart the source when it is time."""
        now = self._now_us()
        if now < self._retry_at:
            self._clock.sleep(min(timeout_s, (self._retry_at - now) / 1e6))
            return Reading(self._gap(reason, self._now_us()), None)
        try:
            pair = self.source.start(self._index_at(now))
        except SourceError as error:
            self._trouble = str(error)
            self._retry_at = self._now_us() + RETRY_US
            return Reading(self._gap(reason, self._now_us()), None)
        gap = self._gap(reason, max(now, pair.monotonic_us))  # an instrument may take long to start
        self._begun(pair, self.next_index)
        self._reason, self._trouble = None, ""
        return Reading(gap, self._known)

    def _gap(self, reason: Reason, until_us: int) -> tuple[Block | Gap, ...]:
        first, self.next_index = self.next_index, self._index_at(until_us)
        return (Gap(first, self.next_index, reason),) if self.next_index > first else ()

    def _now_us(self) -> int:
        return self._clock.now().monotonic_us

    def _index_at(self, now_us: int) -> int:
        """The present index, computed with the nominal rate from the last known one."""
        passed = max(0, now_us - self._known.monotonic_us)
        return max(self.next_index, self._known.index + int(passed * self.source.rate_hz / 1e6))


def _later(pair: TimePair, by: int) -> TimePair:
    return TimePair(pair.index + by, pair.monotonic_us, pair.realtime_us)


def _moved(item: Block | Gap, by: int) -> Block | Gap:
    if isinstance(item, Gap):
        return Gap(item.from_index + by, item.to_index + by, item.reason)
    return Block(item.first_index + by, item.columns)
