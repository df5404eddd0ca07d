# SPDX-License-Identifier: GPL-2.0-or-later
"""Converters of the kernel's industrial I/O by libiio: INA219, INA226 and others.

Kernel document: Documentation/ABI/testing/sysfs-bus-iio: value = (raw + offset) * scale, in millivolts, milliamperes,
milliwatts. A chip of the INA2xx family computes current and power from a shunt's resistance that its driver assumes
(10 milliohm). Its two voltages do not depend on that, so they are the default `channels`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import Block, Gap, Measures, Reason
from happe_power.sources import ina2xx, libiio
from happe_power.sources.lateness import lost
from happe_power.sources.ledger import Ledger
from happe_power.sources.libiio import LOCAL, TIMESTAMP, Context, Device, Format
from happe_power.sources.poller import Poller, Row
from happe_power.sources.rates import agreed
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
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from happe_contract.traces import Channel, TimePair
    from happe_power.sources.clock import Clock
    from happe_power.sources.ina2xx import Ends

MILLI = 1e-3
BATCH_S = 0.05
MOST_REFILLS = 64
FITS = {"voltage": {Measures.SHUNT, Measures.SUPPLY}, "current": {Measures.CURRENT}, "power": {Measures.POWER}}
JUMP = 2.5  # periods between two timestamps: beyond the jitter of drivers that wait by usleep_range (0.5 to 2 periods)


@dataclass(frozen=True)
class Setting:
    """The channels by the driver's ids, and what they measure. `rate_hz` None: the rate at which the buffer fills."""

    names: tuple[str, ...]
    measures: tuple[Measures, ...]
    rate_hz: float | None


class Polled:
    """A source that reads a device's channels one after the other, once a period."""

    kind = "iio"
    serial: str | None = None

    def __init__(self, device: Device, setting: Setting, clock: Clock) -> None:
        """Take the channels. Raises SourceError if the device lacks one, or if the rate is too high for polling."""
        self.device = device.name
        self.channels = channels(device, setting, np.dtype(np.int32))
        self.rate_hz = setting.rate_hz or 0.0
        self._device = device
        self._names = setting.names
        self.notes = _unranged(device, setting.names, "is not seen")
        self._poller = Poller(self._sample, self.channels, self.rate_hz, clock)

    def start(self, first_index: int) -> TimePair:
        """Begin to poll."""
        return self._poller.start(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Poll, and return the samples."""
        return self._poller.read(timeout_s)

    def stop(self) -> None:
        """Do nothing, as polling holds nothing open."""

    def _sample(self) -> Row | None:
        row = tuple(self._device.raw(name) for name in self._names)
        return row if all(-(1 << 31) <= value < 1 << 31 for value in row) else None


class Buffered:
    """A source that reads the device's buffer, which the driver fills. Its timestamps show lost samples."""

    kind = "iio"
    serial: str | None = None

    def __init__(self, device: Device, setting: Setting, clock: Clock) -> None:
        """Open the buffer once to learn its formats. Raises SourceError without a buffer, or if the rate differs."""
        self.device = device.name
        told = device.sampling_hz()
        if not told or told <= 0:
            raise SourceError(f"{device.name} does not say at what rate it fills a buffer; take mode=polled")
        self.rate_hz = agreed(setting.rate_hz, told, device.name) if setting.rate_hz else told
        self._device = device
        self._names = setting.names
        self._clock = clock
        self._ledger = Ledger(self.rate_hz, clock)
        self._formats = self._open()
        device.close_buffer()
        self._wide = any(self._formats[name].bits + (not self._formats[name].signed) > 16 for name in setting.names)  # noqa: PLR2004 - int16's
        self.channels = channels(device, setting, np.dtype(np.int32 if self._wide else np.int16), self._formats)
        self._unranged = _unranged(device, setting.names, "shows only at the ends of the words")
        self._stamp_ns: int | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on ranges, timestamps and the rate, for people."""
        notes = (*self._unranged, *self._ledger.notes)
        if TIMESTAMP in self._formats:
            return notes
        return (f"{self.device} has no timestamps, so nobody sees the samples that its driver loses", *notes)

    def start(self, first_index: int) -> TimePair:
        """Open the buffer, which the driver then fills."""
        self._device.close_buffer()
        self._stamp_ns = None
        self._open()
        return self._ledger.begin(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Return the samples of all full buffers."""
        self._clock.sleep(min(timeout_s, BATCH_S))
        items: list[Block | Gap] = []
        try:
            refill = self._device.refill()
            if refill is None:
                self._clock.sleep(max(0.0, timeout_s - BATCH_S))
                refill = self._device.refill()
            refills = 0
            while refill is not None and refills < MOST_REFILLS:
                items += self._items(refill)
                refill = self._device.refill()
                refills += 1
        except OSError as error:
            if not items:
                raise UnpluggedError(f"{self.device}: {error.strerror}") from None
        return Reading(tuple(items), self._ledger.up_to_date() if items else None)

    def stop(self) -> None:
        """Close the buffer."""
        self._device.close_buffer()

    def _open(self) -> dict[str, Format]:
        formats = self._device.open_buffer(self._names, max(1, round(self.rate_hz * BATCH_S)))
        if formats is None:
            raise SourceError(
                f"{self.device} has no buffer for {'+'.join(self._names)}, or is in use; take mode=polled"
            )
        return {
            name: replace(form, signed=form.signed or ina2xx.has_sign(self.device, name))
            for name, form in formats.items()
        }

    def _items(self, refill: dict[str, bytes]) -> list[Block | Gap]:
        columns = [self._values(refill[name], self._formats[name]) for name in self._names]
        rows = min(len(column) for column in columns)
        items: list[Block | Gap] = []
        begin = 0
        for place, missing in self._jumps(refill, rows):
            if place > begin:
                items.append(self._ledger.block([column[begin:place] for column in columns]))
            items.append(self._ledger.lose(missing, Reason.OVERFLOW))
            begin = place
        if rows > begin:
            items.append(self._ledger.block([column[begin:rows] for column in columns]))
        return items

    def _jumps(self, refill: dict[str, bytes], rows: int) -> list[tuple[int, int]]:
        """Find before which rows samples are missing, and how many."""
        if TIMESTAMP not in self._formats or not rows:
            return []
        stamps = np.frombuffer(refill[TIMESTAMP], self._formats[TIMESTAMP].dtype)[:rows].astype(np.int64)
        before = self._stamp_ns if self._stamp_ns is not None else int(stamps[0])
        times = np.concatenate([[0], stamps - before]) * (self.rate_hz / 1e9)
        periods = np.diff(times)
        self._stamp_ns = int(stamps[-1])
        jumps = np.flatnonzero(periods > JUMP).tolist()
        found = [(place, lost(times, place + 1, round(float(periods[place])) - 1)) for place in jumps]
        return [(place, missing) for place, missing in found if missing]

    def _values(self, words: bytes, form: Format) -> NDArray[Any]:
        """Extract the value's bits from each word, with their sign."""
        value = np.frombuffer(words, form.dtype).astype(np.int64) >> form.shift
        value &= (1 << form.bits) - 1
        if form.signed:
            value = value - ((value >> (form.bits - 1)) << form.bits)
        return value.astype(np.int32 if self._wide else np.int16)


def channels(
    device: Device, setting: Setting, dtype: np.dtype[Any], formats: Mapping[str, Format] | None = None
) -> tuple[Channel, ...]:
    """Make channels with the driver's scales. Raises SourceError without a scale, SpecError for a bad choice.

    Their ranges are the chip's; if these are unknown, those of the words in the buffer.
    """
    scales, offsets, ends = [], [], []
    for name, what in zip(setting.names, setting.measures, strict=True):
        if name not in device.inputs:
            raise SpecError(f"{device.name} has no channel {name!r}; it has {', '.join(device.inputs)}")
        if what not in next((fit for kind, fit in FITS.items() if name.startswith(kind)), {what}):
            raise SpecError(f"{device.name}: {name} can't be measured as {what}; say measures=")
        scale = device.attribute(name, "scale")
        if not scale:
            raise SourceError(f"{device.name}: {name} has no scale; it can't be turned into a unit")
        scales.append(scale * MILLI)
        offsets.append((device.attribute(name, "offset") or 0.0) * scale * MILLI)
        ends.append(_chips_ends(device, name) or (_words_ends(formats[name]) if formats else (None, None)))
    return channels_of(setting.measures, dtype, scales, offsets, ends)


def _chips_ends(device: Device, name: str) -> Ends | None:
    scale, gain = device.attribute(name, "scale"), device.attribute(name, "hardwaregain")
    return ina2xx.ends(device.name, name, scale * MILLI, gain) if scale else None


def _words_ends(form: Format) -> Ends:
    """The ends of a buffer's word. An unsigned 0 is no end, because a channel without a supply reads 0."""
    if form.signed:
        return -(1 << (form.bits - 1)), (1 << (form.bits - 1)) - 1
    return None, (1 << form.bits) - 1


def _unranged(device: Device, names: tuple[str, ...], says: str) -> tuple[str, ...]:
    """A note that names the channels whose range is unknown, if there are any."""
    unknown = [name for name in names if _chips_ends(device, name) is None]
    return (f"{device.name}: the range of {', '.join(unknown)} is unknown: saturation {says}",) if unknown else ()


def make(spec: Spec, clock: Clock) -> Polled | Buffered:
    """Make a source from a spec such as iio:ina226,channels=voltage0+voltage1,rate=100."""
    device = _device(spec)
    names = spec.names("channels")
    mode = spec.text_of("mode")
    rate = spec.number("rate") if spec.text_of("rate") else None
    setting = Setting(names, spec.measures(len(names)), rate if mode == "buffered" else rate or 100.0)
    return Buffered(device, setting, clock) if mode == "buffered" else Polled(device, setting, clock)


def _device(spec: Spec) -> libiio.RealDevice:
    devices = Context(spec.text_of("uri")).devices()
    for device in devices:
        if spec.place in ("", device.name, device.id):
            return device
    known = ", ".join(f"{device.name} ({device.id})" for device in devices) or "none"
    raise SpecError(f"{spec.text}: there is no device {spec.place!r}; there is {known}")


def find() -> list[Found]:
    """The devices of this machine."""
    try:
        context = Context(LOCAL)
    except SourceError as error:
        missing = libiio.GET_LIBRARY if libiio.LIBRARY in str(error) else None
        return [Found("iio", None, "no device" if missing is None else str(error), missing)]
    found = [_found(device) for device in context.devices()]
    context.close()
    return found or [Found("iio", None, "no device")]


def _found(device: libiio.RealDevice) -> Found:
    voltages = [name for name in device.inputs if name.startswith("voltage")][:2]
    says = f"{device.name} ({device.id}): {', '.join(device.inputs)}"[:200]
    if not voltages:
        return Found("iio", None, f"{says}: no voltage")
    measures = "" if len(voltages) > 1 else ",measures=shunt"
    return Found("iio", f"iio:{device.id},channels={'+'.join(voltages)}{measures},rate=100", says)


MODES = {"enum": ["polled", "buffered"]}
KIND = Kind(
    "iio",
    "a converter of the kernel's industrial I/O, e.g. an INA226 on I2C",
    "NAME or ID",
    "iio:ina226,channels=voltage0+voltage1,rate=100",
    (
        Option("channels", "voltage0+voltage1", "the driver's channels, in the order of `measures`", NAMES),
        MEASURES,
        Option(
            "rate",
            OPTIONAL,
            "samples of each channel a second; polled: 100 if left out, buffered: as the device is set",
            number(1e-3, 1e7),
        ),
        Option("mode", "polled", "polled, or buffered: the driver fills a buffer by its own clock", MODES),
        Option("uri", LOCAL, "another host's devices: ip:HOST"),
    ),
    make,
    find,
)
