# SPDX-License-Identifier: GPL-2.0-or-later
"""Wraps libiio 0.x (iio.h) by ctypes: a device in our own words, of this host or of another (ip:HOST)."""

from __future__ import annotations

import ctypes
import errno
import os
from ctypes import POINTER, Structure, c_bool, c_char_p, c_double, c_longlong, c_size_t, c_ssize_t, c_uint, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from happe_power.sources.source import SourceError, UnpluggedError

LIBRARY = "libiio.so.0"
GET_LIBRARY = "sudo apt-get install libiio0"
LOCAL = "local:"
TIMESTAMP = "timestamp"


@dataclass(frozen=True)
class Format:
    """The layout of a sample in the buffer. `dtype` is the whole word; the value is `bits` bits from `shift` up."""

    dtype: np.dtype[np.generic]
    bits: int
    shift: int
    signed: bool


class Device(Protocol):
    """The device that the sources of iio.py need. Its fake is fakes/iio.py."""

    @property
    def name(self) -> str:
        """The chip's name in its driver."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids of the input channels: voltage0, current3 and so on."""

    def attribute(self, channel: str, name: str) -> float | None:
        """A number that belongs to a channel (scale, offset); None if it has none."""

    def raw(self, channel: str) -> int:
        """Read one raw value. Raises UnpluggedError."""

    def sampling_hz(self) -> float | None:
        """The rate at which the device fills a buffer; None if it does not say."""

    def open_buffer(self, channels: tuple[str, ...], samples: int) -> dict[str, Format] | None:
        """Open a buffer, with a TIMESTAMP if possible. Return the channels' layouts; None: there is no buffer."""

    def refill(self) -> dict[str, bytes] | None:
        """The next samples of each channel, as words one after the other; None: too few yet. Raises OSError."""

    def close_buffer(self) -> None:
        """Close the buffer, if one is open."""


class CFormat(Structure):
    """struct iio_data_format."""

    _fields_ = (
        *((name, c_uint) for name in ("length", "bits", "shift")),
        *((name, c_bool) for name in ("is_signed", "is_fully_defined", "is_be", "with_scale")),
        ("scale", c_double),
        ("repeat", c_uint),
    )


POINTERS = (
    "create_context_from_uri",
    "context_get_device",
    "device_get_channel",
    "device_create_buffer",
    "buffer_first",
    "buffer_end",
)
TEXTS = ("device_get_name", "device_get_id", "channel_get_id")
UNSIGNED = ("context_get_devices_count", "device_get_channels_count")
FLAGS = ("channel_is_output", "channel_is_scan_element")


@cache
def library() -> ctypes.CDLL:
    """Load libiio. Raises SourceError if it is not installed."""
    try:
        loaded = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError:
        raise SourceError(f"{LIBRARY} is not installed; `{GET_LIBRARY}`") from None
    for names, result in ((POINTERS, c_void_p), (TEXTS, c_char_p), (UNSIGNED, c_uint), (FLAGS, c_bool)):
        for name in names:
            getattr(loaded, f"iio_{name}").restype = result
    loaded.iio_buffer_refill.restype = c_ssize_t
    loaded.iio_buffer_step.restype = c_ssize_t
    loaded.iio_channel_attr_read.restype = c_ssize_t
    loaded.iio_channel_get_data_format.restype = POINTER(CFormat)
    return loaded


class Context:
    """The IIO devices of a host."""

    def __init__(self, uri: str) -> None:
        """Connect. Raises SourceError if the host does not answer."""
        self.lib = library()
        handle = self.lib.iio_create_context_from_uri(uri.encode())
        if not handle:
            why = os.strerror(ctypes.get_errno() or errno.ENODEV)
            raise SourceError(f"IIO at {uri} does not answer: {why}; for local: are there any in /sys/bus/iio/devices?")
        self.handle = c_void_p(handle)

    def close(self) -> None:
        """Close the connection. Its devices can't be used after that."""
        self.lib.iio_context_destroy(self.handle)

    def devices(self) -> list[RealDevice]:
        """All devices that measure something."""
        count = self.lib.iio_context_get_devices_count(self.handle)
        all_of_them = [RealDevice(self, self.lib.iio_context_get_device(self.handle, index)) for index in range(count)]
        return [device for device in all_of_them if device.inputs]


class RealDevice:
    """A device of a context. It keeps the context alive."""

    def __init__(self, context: Context, handle: int) -> None:
        """Take a handle of the library."""
        self._context = context
        self._lib = context.lib
        self._dev = c_void_p(handle)
        self.id = self._text("device_get_id", self._dev)
        self.name = self._text("device_get_name", self._dev) or self.id
        self._channels = self._all_channels()
        self.inputs = tuple(name for name in self._channels if name != TIMESTAMP)
        self._buffer: c_void_p | None = None
        self._enabled: dict[str, tuple[c_void_p, Format]] = {}

    def attribute(self, channel: str, name: str) -> float | None:
        """iio_channel_attr_read_double."""
        value = c_double()
        status = self._lib.iio_channel_attr_read_double(self._channels[channel], name.encode(), ctypes.byref(value))
        return float(value.value) if status == 0 else None

    def raw(self, channel: str) -> int:
        """iio_channel_attr_read_longlong."""
        value = c_longlong()
        status = self._lib.iio_channel_attr_read_longlong(self._channels[channel], b"raw", ctypes.byref(value))
        if status < 0:
            raise UnpluggedError(f"{self.name}, {channel}: {os.strerror(-status)}")
        return int(value.value)

    def sampling_hz(self) -> float | None:
        """The device's sampling_frequency, whatever its driver calls it."""
        value = c_double()
        for name in (b"sampling_frequency", b"in_sampling_frequency"):
            if self._lib.iio_device_attr_read_double(self._dev, name, ctypes.byref(value)) == 0:
                return float(value.value)
        return self.attribute(self.inputs[0], "sampling_frequency")

    def open_buffer(self, channels: tuple[str, ...], samples: int) -> dict[str, Format] | None:
        """Enable channels and the timestamp. None if one of them can't be buffered or the driver refuses a buffer."""
        scanned = [name for name in (*channels, TIMESTAMP) if name in self._channels and self._scans(name)]
        if not set(channels) <= set(scanned):
            return None
        for name in scanned:
            self._lib.iio_channel_enable(self._channels[name])
        self._lib.iio_device_attr_write(self._dev, b"current_timestamp_clock", b"monotonic")
        handle = self._lib.iio_device_create_buffer(self._dev, c_size_t(samples), c_bool(False))  # noqa: FBT003 - C's
        if not handle:
            self._disable(scanned)
            return None
        self._buffer = c_void_p(handle)
        self._lib.iio_buffer_set_blocking_mode(self._buffer, c_bool(False))  # noqa: FBT003 - C's
        formats = {name: self._format(self._channels[name]) for name in scanned}
        self._enabled = {name: (self._channels[name], formats[name]) for name in scanned}
        return formats

    def refill(self) -> dict[str, bytes] | None:
        """Call iio_buffer_refill, and split the buffer into channels."""
        got = self._lib.iio_buffer_refill(self._buffer)
        if got == -errno.EAGAIN:
            return None
        if got < 0:
            raise OSError(-got, os.strerror(-got))
        step = int(self._lib.iio_buffer_step(self._buffer))
        return {
            name: self._words(channel, form.dtype.itemsize, step) for name, (channel, form) in self._enabled.items()
        }

    def close_buffer(self) -> None:
        """iio_buffer_destroy."""
        if self._buffer:
            self._lib.iio_buffer_destroy(self._buffer)
            self._buffer = None
            self._disable(list(self._enabled))

    def _words(self, channel: c_void_p, size: int, step: int) -> bytes:
        first, end = self._lib.iio_buffer_first(self._buffer, channel), self._lib.iio_buffer_end(self._buffer)
        if not first or first >= end:
            return b""
        count = (end - first + step - size) // step
        raw = np.frombuffer(ctypes.string_at(first, (count - 1) * step + size), np.uint8)
        return np.lib.stride_tricks.as_strided(raw, (count, size), (step, 1)).tobytes()

    def _disable(self, names: list[str]) -> None:
        for name in names:
            self._lib.iio_channel_disable(self._channels[name])

    def _scans(self, name: str) -> bool:
        return bool(self._lib.iio_channel_is_scan_element(self._channels[name]))

    def _format(self, channel: c_void_p) -> Format:
        form = self._lib.iio_channel_get_data_format(channel).contents
        letter = "i" if form.is_signed else "u"
        dtype = np.dtype(f"{'>' if form.is_be else '<'}{letter}{form.length // 8}")
        return Format(dtype, form.bits, form.shift, bool(form.is_signed))

    def _all_channels(self) -> dict[str, c_void_p]:
        count = self._lib.iio_device_get_channels_count(self._dev)
        handles = [c_void_p(self._lib.iio_device_get_channel(self._dev, index)) for index in range(count)]
        return {self._text("channel_get_id", one): one for one in handles if not self._lib.iio_channel_is_output(one)}

    def _text(self, name: str, handle: c_void_p) -> str:
        said: bytes | None = getattr(self._lib, f"iio_{name}")(handle)
        return (said or b"").decode(errors="replace")
