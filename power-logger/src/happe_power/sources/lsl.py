# SPDX-License-Identifier: GPL-2.0-or-later
"""Lab Streaming Layer, by pylsl: reads another program's stream as a source, and publishes a recording as a stream.

LSL's clock on Linux is CLOCK_MONOTONIC in seconds, like the recorder's. LSL corrects the times of another host's
stream by its own comparison of clocks.
"""

from __future__ import annotations

import importlib
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.rig import values
from happe_contract.traces import Block, Gap, Measures, Reason, TimePair
from happe_power.sources.clock import MICROS
from happe_power.sources.lateness import FARTHEST, LEAST, lost
from happe_power.sources.ledger import Ledger
from happe_power.sources.rates import rate_warning
from happe_power.sources.source import Reading, SourceError, UnpluggedError
from happe_power.sources.spec import (
    MEASURES,
    NAMES,
    OPTIONAL,
    Found,
    Kind,
    Option,
    Spec,
    SpecError,
    channels_of,
    number,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_power.sources.clock import Clock
    from happe_power.sources.source import Source

PACKAGE = "pylsl"
GET_PACKAGE = "pip install happe-power-logger[lsl]"
FIND_S = 2.0
ANSWER_S = 10.0
BATCH_S = 0.1
BUFFER_S = 60  # that LSL keeps for a busy host
MOST_PULLED = 1 << 16
HELD_S = 0.5  # a sample waits for those behind it, which show whether its time is late or samples are missing
MISSED = 1.5  # periods: at this step between two times, samples may be missing
FORMATS = {1: np.float32, 2: np.float64, 4: np.int32, 5: np.int16, 7: np.int64}  # pylsl's cf_...; not text, not int8


class Lsl:
    """A source that reads a stream. The stream's times show missing samples; a time that is only late loses none."""

    kind = "lsl"

    def __init__(self, module: Any, name: str, spec: Spec, clock: Clock) -> None:  # noqa: ANN401 - pylsl, or its fake
        """Find the stream; `module` is pylsl. Raises SourceError without such a stream or channels."""
        self._lsl, self._name, self._clock = module, name, clock
        self._inlet: Any = None
        info = self._described()
        self._format = np.dtype(FORMATS[info.channel_format()])
        self._count = int(info.channel_count())
        self._taken = self._columns(info, spec)
        self.rate_hz = float(info.nominal_srate()) or (spec.number("rate") if spec.text_of("rate") else 0.0)
        if not self.rate_hz > 0:
            raise SpecError(f"{spec.text}: the stream has no rate of its own; say rate=")
        self.device = f"LSL {name} of {info.hostname()}"[:200]
        self.serial: str | None = str(info.source_id())[:200] or None
        count = len(self._taken)
        self.channels = channels_of(spec.measures(count), self._format, spec.numbers("scale", count), [0.0] * count)
        self._ledger = Ledger(self.rate_hz, clock)
        self._times: NDArray[np.float64] = np.empty(0)
        self._rows: NDArray[Any] = np.empty((0, self._count), self._format)
        self._last = 0.0  # the time of the last sample that has an index
        self._first = self._latest = TimePair(0, 0, 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the stream's rate differs from the nominal one."""
        warning = rate_warning(self.rate_hz, self._first, self._latest)
        return (warning,) if warning else ()

    def start(self, first_index: int) -> TimePair:
        """Subscribe to the stream."""
        self.stop()
        info = self._resolved()
        if int(info.channel_count()) != self._count or FORMATS[info.channel_format()] != self._format.type:
            raise SourceError(f"the stream {self._name!r} has other channels than before")
        flags = self._lsl.proc_clocksync
        try:
            self._inlet = self._lsl.StreamInlet(info, max_buflen=BUFFER_S, recover=False, processing_flags=flags)
            self._inlet.open_stream(ANSWER_S)
        except Exception as error:  # noqa: BLE001 - LostError, TimeoutError and others of pylsl
            self._inlet = None
            raise UnpluggedError(f"the stream {self._name!r}: {error}") from None
        self._times, self._rows, self._last = self._times[:0], self._rows[:0], 0.0
        self._first = self._latest = self._ledger.begin(first_index)
        return self._first

    def read(self, timeout_s: float) -> Reading:
        """Return the samples with enough samples behind them, or that have waited long enough."""
        if self._inlet is None:
            raise SourceError(f"{self.device} was not started")
        buffer = np.empty((MOST_PULLED, self._count), self._format)
        try:
            _, stamps = self._inlet.pull_chunk(min(timeout_s, BATCH_S), MOST_PULLED, dest_obj=buffer)
        except Exception as error:  # noqa: BLE001 - LostError and others of pylsl
            raise UnpluggedError(f"the stream {self._name!r}: {error}") from None
        self._times = np.concatenate([self._times, stamps])
        self._rows = np.concatenate([self._rows, buffer[: len(stamps)]])
        return self._told(self._ready())

    def stop(self) -> None:
        """Unsubscribe."""
        if self._inlet is not None:
            inlet, self._inlet = self._inlet, None
            inlet.close_stream()

    def _resolved(self) -> Any:  # noqa: ANN401 - pylsl.StreamInfo
        """Find the stream on the network. Raises UnpluggedError, SourceError."""
        found = self._lsl.resolve_byprop("name", self._name, 1, FIND_S)
        if not found:
            raise UnpluggedError(f"no stream on the network is called {self._name!r}")
        if found[0].channel_format() not in FORMATS:
            raise SourceError(f"the stream {self._name!r} has text or bytes, no measurements")
        return found[0]

    def _described(self) -> Any:  # noqa: ANN401 - pylsl.StreamInfo
        """The stream's full description, which only its host can give."""
        inlet = self._lsl.StreamInlet(self._resolved(), recover=False)
        try:
            return inlet.info(ANSWER_S)
        except Exception as error:  # noqa: BLE001 - LostError, TimeoutError of pylsl
            raise UnpluggedError(f"the stream {self._name!r}: {error}") from None

    def _columns(self, info: Any, spec: Spec) -> list[int]:  # noqa: ANN401 - pylsl.StreamInfo
        """The positions of the chosen columns, by their labels or numbers."""
        labels = list(info.get_channel_labels() or [])
        known = [label or str(at) for at, label in enumerate(labels)] or list(map(str, range(self._count)))
        wanted = spec.names("channels") if spec.text_of("channels") else tuple(known)
        for name in wanted:
            if known.count(name) != 1:
                raise SpecError(f"{spec.text}: there is not one channel {name!r}; there are {', '.join(known)[:200]}")
        return [known.index(name) for name in wanted]

    def _ready(self) -> int:
        """How many rows have enough rows behind them, or have waited for long enough."""
        if not len(self._times):
            return 0
        waited_s = self._clock.now().monotonic_us / MICROS - self._times
        enough = len(self._times) - min(FARTHEST, max(LEAST, round(HELD_S * self.rate_hz)))
        return max(0, enough, int(np.searchsorted(-waited_s, -2 * HELD_S, side="right")))

    def _told(self, ready: int) -> Reading:
        """Return the rows that are ready, with gaps where their times show a loss."""
        if not ready:
            return Reading((), None)
        periods = np.concatenate([[self._last or self._times[0] - 1 / self.rate_hz], self._times]) * self.rate_hz
        steps = np.diff(periods[: ready + 1])
        missed = {int(row): round(float(steps[row])) - 1 for row in np.flatnonzero(steps >= MISSED)}
        items: list[Block | Gap] = []
        begin = 0
        for row, missing in missed.items():
            gone = lost(periods, row + 1, missing)
            if gone:
                self._block(items, begin, row)
                items.append(self._ledger.lose(gone, Reason.STALL))
                begin = row
        self._block(items, begin, ready)
        self._last = float(self._times[ready - 1])
        self._times, self._rows = self._times[ready:], self._rows[ready:]
        self._latest = self._pair()
        return Reading(tuple(items), self._latest)

    def _block(self, items: list[Block | Gap], begin: int, end: int) -> None:
        if end > begin:
            items.append(self._ledger.block([self._rows[begin:end, column].copy() for column in self._taken]))

    def _pair(self) -> TimePair:
        """The time of the next index: a period after the last sample."""
        now = self._clock.now()
        at_us = max(self._latest.monotonic_us, round((self._last + 1 / self.rate_hz) * MICROS))
        return TimePair(self._ledger.next_index, at_us, now.realtime_us + at_us - now.monotonic_us)


class Published:
    """A source that also publishes its samples as a stream, in each channel's unit. It adds and loses nothing."""

    def __init__(self, source: Source, module: Any, name: str) -> None:  # noqa: ANN401 - pylsl, or its fake
        """Publish `source` under this name."""
        self._source = source
        kind = "Power"
        info = module.StreamInfo(name, kind, len(source.channels), source.rate_hz, "float32", source.device)
        described = info.desc().append_child("channels")
        for channel in source.channels:
            one = described.append_child("channel")
            for key, said in (("label", channel.name), ("unit", channel.unit), ("type", kind)):
                one.append_child_value(key, said)
        self._outlet = module.StreamOutlet(info)
        self._at: TimePair | None = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else is the source's
        """Take all other attributes from the source."""
        return getattr(self._source, name)

    def start(self, first_index: int) -> TimePair:
        """Start the source."""
        self._at = self._source.start(first_index)
        return self._at

    def read(self, timeout_s: float) -> Reading:
        """Read the source, and publish each sample with its time."""
        reading = self._source.read(timeout_s)
        self._at = reading.at or self._at
        for block in (item for item in reading.items if isinstance(item, Block)):
            columns = [values(*pair) for pair in zip(self._source.channels, block.columns, strict=True)]
            self._outlet.push_chunk(np.column_stack(columns).astype(np.float32), self._stamps(block))
        return reading

    def _stamps(self, block: Block) -> list[float]:
        assert self._at is not None  # noqa: S101 - it was started
        rate_hz = self._source.rate_hz
        first = self._at.monotonic_us / MICROS + (block.first_index - self._at.index) / rate_hz
        return [first + row / rate_hz for row in range(block.rows)]


def package() -> Any:  # noqa: ANN401 - a module without types
    """Import pylsl. Raises SourceError, which says what to install."""
    try:
        return importlib.import_module(PACKAGE)
    except (ImportError, RuntimeError, OSError):  # the two latter: without liblsl
        raise SourceError(f"the package {PACKAGE} is not installed; `{GET_PACKAGE}`") from None


def make(spec: Spec, clock: Clock) -> Lsl:
    """Make a source from a spec such as lsl:NAME,channels=shunt+supply."""
    if not spec.place:
        raise SpecError(f"{spec.text}: which stream? e.g. {KIND.example}")
    return Lsl(package(), spec.place, spec, clock)


def find() -> list[Found]:
    """All streams that answer."""
    try:
        streams = package().resolve_streams(1.0)
    except SourceError as error:
        return [Found("lsl", None, str(error), GET_PACKAGE)]
    found = [_found(info) for info in streams if info.channel_format() in FORMATS]
    return found or [Found("lsl", None, "no stream on the network answers")]


def _found(info: Any) -> Found:  # noqa: ANN401 - pylsl.StreamInfo
    rate_hz = float(info.nominal_srate())
    measures = "+".join([Measures.POWER] * int(info.channel_count()))
    rate = "" if rate_hz and math.isfinite(rate_hz) else ",rate=10"
    says = f"{info.channel_count()} channels of {info.hostname()}, {rate_hz:g} samples a second"
    return Found("lsl", f"lsl:{info.name()},measures={measures}{rate}", says[:120])


KIND = Kind(
    "lsl",
    "a stream of Lab Streaming Layer, of this host or another one",
    "NAME",
    "lsl:Meter,channels=shunt+supply",
    (
        Option(
            "channels", OPTIONAL, "the labels or numbers of the stream's channels, in the order of `measures`", NAMES
        ),
        MEASURES,
        Option(
            "scale",
            "1",
            "units for one of the stream's, e.g. 0.001 for millivolts",
            {"type": "array", "items": number()},
        ),
        Option("rate", OPTIONAL, "samples a second, for a stream without a rate", number(0.01, 1e6)),
    ),
    make,
    find,
)
