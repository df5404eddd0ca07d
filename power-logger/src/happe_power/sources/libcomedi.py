# SPDX-License-Identifier: GPL-2.0-or-later
"""Wraps the kernel's comedi: a board in our own words, on libcomedi.so.0 by ctypes.

Debian's python3-comedilib fits only one version of the system's Python. The C library's ABI has not changed since
2005, and streaming needs only two dozen of its functions. Struct layouts: comedilib.h, linux/comedi.h.
"""

import ctypes
import errno
import os
import select
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_uint, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from happe_power.sources.source import SourceError

LIBRARY = "libcomedi.so.0"
GET_LIBRARY = "sudo apt-get install libcomedi0"
UNIT_VOLT = 0
AREFS = {"ground": 0, "common": 1, "diff": 2, "other": 3}
SDF_CMD_READ = 0x8000
SDF_SOFT_CALIBRATED = 0x2000
SDF_LSAMPL = 0x10000000
TRIG_NONE, TRIG_NOW, TRIG_COUNT, TRIG_TIMER = 0x1, 0x2, 0x20, 0x10
TO_PHYSICAL = 0
TESTS = 4  # comedi_command_test repairs a command step by step and answers 0 when nothing is left to repair
LARGEST_READ = 1 << 20


@dataclass(frozen=True)
class Range:
    """A range of volts for a channel."""

    low: float
    high: float


@dataclass(frozen=True)
class Polynomial:
    """volts = sum of coefficients[i] * (raw - origin)^i; comedilib's comedi_polynomial_t."""

    coefficients: tuple[float, ...]
    origin: float


@dataclass(frozen=True)
class Input:
    """How to sample a channel: number, index of its range, reference (AREFS)."""

    number: int
    range: int
    aref: int


class CRange(Structure):
    """comedi_range."""

    _fields_ = (("min", c_double), ("max", c_double), ("unit", c_uint))


class CPolynomial(Structure):
    """comedi_polynomial_t."""

    _fields_ = (("coefficients", c_double * 4), ("origin", c_double), ("order", c_uint))


class CCommand(Structure):
    """comedi_cmd."""

    _fields_ = (
        *((name, c_uint) for name in ("subdev", "flags", "start_src", "start_arg", "scan_begin_src", "scan_begin_arg")),
        *((name, c_uint) for name in ("convert_src", "convert_arg", "scan_end_src", "scan_end_arg")),
        *((name, c_uint) for name in ("stop_src", "stop_arg")),
        ("chanlist", POINTER(c_uint)),
        ("chanlist_len", c_uint),
        ("data", c_void_p),
        ("data_len", c_uint),
    )


# Results that are not int.
RESULTS = {
    "comedi_open": c_void_p,
    "comedi_get_driver_name": c_char_p,
    "comedi_get_board_name": c_char_p,
    "comedi_strerror": c_char_p,
    "comedi_get_range": POINTER(CRange),
    "comedi_get_maxdata": c_uint,
    "comedi_get_default_calibration_path": c_void_p,  # to be freed
    "comedi_parse_calibration_file": c_void_p,
}


@cache
def library() -> ctypes.CDLL:
    """Load libcomedi. Raises SourceError if it is not installed."""
    try:
        loaded = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError:
        raise SourceError(f"{LIBRARY} is not installed; `{GET_LIBRARY}`") from None
    for name, result in RESULTS.items():
        getattr(loaded, name).restype = result
    return loaded


class Board:
    """A board behind /dev/comediN: its first subdevice with commands for reading."""

    def __init__(self, path: str) -> None:
        """Open the device file. Raises SourceError, which says why that failed and what helps."""
        self._lib = library()
        handle = self._lib.comedi_open(path.encode())
        if not handle:
            raise SourceError(self._why_not(path))
        self._path = path
        self._dev = c_void_p(handle)
        self._sub = self._lib.comedi_get_read_subdevice(self._dev)
        flags = self._lib.comedi_get_subdevice_flags(self._dev, self._sub) if self._sub >= 0 else 0
        if not flags & SDF_CMD_READ:
            self.close()
            raise SourceError(f"{path} can't stream: it has no input that takes commands; use another board")
        self._soft = bool(flags & SDF_SOFT_CALIBRATED)
        self.wide = bool(flags & SDF_LSAMPL)
        self.driver = self._lib.comedi_get_driver_name(self._dev).decode(errors="replace")
        self.name = self._lib.comedi_get_board_name(self._dev).decode(errors="replace")
        self.inputs = self._lib.comedi_get_n_channels(self._dev, self._sub)
        self._fd = self._lib.comedi_fileno(self._dev)
        os.set_blocking(self._fd, False)

    def maxdata(self, number: int) -> int:
        """The highest raw value of an input; the lowest is 0."""
        return int(self._lib.comedi_get_maxdata(self._dev, self._sub, number))

    def ranges(self, number: int) -> list[Range]:
        """The ranges in volts. A range in another unit is an empty one here, so that the indices stay."""
        count = self._lib.comedi_get_n_ranges(self._dev, self._sub, number)
        found = [self._lib.comedi_get_range(self._dev, self._sub, number, index).contents for index in range(count)]
        return [Range(one.min, one.max) if one.unit == UNIT_VOLT else Range(0.0, 0.0) for one in found]

    def converter(self, one: Input) -> Polynomial:
        """From raw values to volts: the soft calibration if the driver asks for it, else the hard one."""
        result = CPolynomial()
        if self._soft:
            self._soft_converter(one, result)
        else:
            of = (self._sub, one.number, one.range, TO_PHYSICAL)
            self._do("get_hardcal_converter", self._dev, *of, byref(result))
        return Polynomial(tuple(result.coefficients[: result.order + 1]), result.origin)

    def _soft_converter(self, one: Input, result: CPolynomial) -> None:
        address = self._lib.comedi_get_default_calibration_path(self._dev)
        path = ctypes.string_at(address) if address else b""
        ctypes.CDLL(None).free(c_void_p(address))
        calibration = self._lib.comedi_parse_calibration_file(path)
        if not calibration:
            raise SourceError(
                f"{self.name} is calibrated by a file that can't be read: {path.decode(errors='replace')};"
                f" `sudo comedi_soft_calibrate -f {self._path}` makes it"
            )
        try:
            of = (self._sub, one.number, one.range, TO_PHYSICAL)
            self._do("get_softcal_converter", *of, c_void_p(calibration), byref(result))
        finally:
            self._lib.comedi_cleanup_calibration(c_void_p(calibration))

    def set_buffer(self, size: int) -> int:
        """Ask the driver to keep `size` bytes. Return how many it will keep: only root may have over 64 KiB."""
        if self._lib.comedi_get_max_buffer_size(self._dev, self._sub) < size:
            self._lib.comedi_set_max_buffer_size(self._dev, self._sub, size)
        allowed = self._lib.comedi_get_max_buffer_size(self._dev, self._sub)
        self._lib.comedi_set_buffer_size(self._dev, self._sub, min(size, allowed))
        return int(self._lib.comedi_get_buffer_size(self._dev, self._sub))

    def _command(self, inputs: list[Input], scan_ns: int) -> CCommand:
        """Make a command for endless scans that comedi_command_test accepts."""
        command = CCommand()
        self._do("get_cmd_generic_timed", self._dev, self._sub, byref(command), len(inputs), scan_ns)
        packed = [(one.aref & 3) << 24 | (one.range & 0xFF) << 16 | one.number for one in inputs]
        command.chanlist = (c_uint * len(packed))(*packed)
        command.chanlist_len = len(packed)
        command.stop_src, command.stop_arg = TRIG_NONE, 0
        for _ in range(TESTS):
            if self._lib.comedi_command_test(self._dev, byref(command)) == 0:
                return command
        raise SourceError(f"{self.name} can't sample these channels together {1e9 / scan_ns:g} times a second")

    def granted_ns(self, inputs: list[Input], scan_ns: int) -> int:
        """The nanoseconds between two scans of all inputs that the board can do, closest to `scan_ns`."""
        command = self._command(inputs, scan_ns)
        if command.scan_begin_src == TRIG_TIMER:
            return int(command.scan_begin_arg)
        return int(command.convert_arg) * len(inputs)  # scans follow each other without a pause

    def command(self, inputs: list[Input], scan_ns: int) -> None:
        """Begin to sample, until `cancel`."""
        self._do("command", self._dev, byref(self._command(inputs, scan_ns)))

    def cancel(self) -> None:
        """End the sampling, and drop all samples that were not read. An unplugged board may fail."""
        self._lib.comedi_cancel(self._dev, self._sub)

    def read(self, timeout_s: float) -> bytes:
        """Return data, and wait for some if there is none; b"" if none came. Raises OSError EPIPE after an overflow."""
        ready, _, _ = select.select([self._fd], [], [], max(0.0, timeout_s))
        if not ready:
            return b""
        try:
            data = os.read(self._fd, LARGEST_READ)
        except BlockingIOError:
            return b""
        if not data:
            raise OSError(errno.ENODEV, "the driver ended the command")
        return data

    def close(self) -> None:
        """Close the board, so that other programs can use it."""
        self._lib.comedi_close(self._dev)

    def _do(self, name: str, *arguments: object) -> None:
        if getattr(self._lib, f"comedi_{name}")(*arguments) < 0:
            raise SourceError(f"{self._path}: comedi_{name}: {self._said()}")

    def _said(self) -> str:
        text: bytes = self._lib.comedi_strerror(self._lib.comedi_errno())
        return text.decode(errors="replace")

    def _why_not(self, path: str) -> str:
        if not Path(path).exists():
            return f"{path} does not exist; is the board's module loaded (for NI's E series `sudo modprobe ni_pcimio`)?"
        if not os.access(path, os.R_OK | os.W_OK):
            return f"you may not open {path}; run `sudo adduser $USER iocard` and log in again"
        return f"{path}: {self._said()}; is there a board behind it? `cat /proc/comedi` lists the boards"
