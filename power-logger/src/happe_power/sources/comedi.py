# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples a board of the kernel's comedi that can stream, such as the paper's NI 6034E (section A.5.1.1)."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Channel, Measures, Reason, TimePair
from happe_power.sources import libcomedi
from happe_power.sources.clock import Clock
from happe_power.sources.indexer import Indexer, agreed
from happe_power.sources.libcomedi import AREFS, Board, Input, Range
from happe_power.sources.source import Reading, SourceError, UnpluggedError
from happe_power.sources.spec import MEASURES, Found, Kind, Option, Spec, SpecError, channels_of, list_of, number

BATCH_S = 0.05  # the samples of one read, or a quarter of the driver's buffer if that is less
SILENT_S = 2.0  # a board that gives nothing for longer has stopped; the source starts it again
SILENT_PERIODS = 5
MOST_READS = 64  # in a row; a board that fills its buffer faster than we read must wait for the next call
GONE = {errno.ENODEV, errno.EIO, errno.EBADF, errno.ENXIO}
LINEAR_WITHIN = 0.5  # raw counts by which the calibration may deviate from a line: no more than the resolution
WIDE_BUFFER_S = 0.5  # a warning names a shorter buffer: a busy host makes it overflow


class Comedi:
    """A source that streams from an open comedi board. `stop` ends the sampling, and leaves the board open."""

    kind = "comedi"
    serial: str | None = None

    def __init__(self, board: Board, spec: Spec, clock: Clock) -> None:
        """Set the board up. Raises SourceError or SpecError, which say what the board can do."""
        self._board = board
        self._clock = clock
        self.device = f"{board.name} ({board.driver})"
        numbers, asked_hz = spec.items("channels"), spec.number("rate")
        pairs = zip(numbers, spec.numbers("range", len(numbers)), strict=True)
        self._inputs = [_input(board, *pair, AREFS[spec.text_of("aref")]) for pair in pairs]
        self.channels = _channels(board, self._inputs, spec.measures(len(numbers)))
        self._scan_ns = board.granted_ns(self._inputs, round(1e9 / asked_hz))
        self.rate_hz = agreed(asked_hz, 1e9 / self._scan_ns, board.name)
        self._sample = np.dtype("<u4" if board.wide else "<u2")
        self._scan_bytes = self._sample.itemsize * len(self._inputs)
        held = board.set_buffer(int(spec.number("buffer") * self.rate_hz * self._scan_bytes))
        self.buffer_s = held / (self.rate_hz * self._scan_bytes)
        self._batch_s = min(BATCH_S, self.buffer_s / 4)
        self._silent_s = max(SILENT_S, SILENT_PERIODS / self.rate_hz)
        self._indexer = Indexer(self.rate_hz, clock)
        self._rest = b""
        self._error: OSError | None = None
        self._running = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the buffer and the rate, for people."""
        if self.buffer_s >= WIDE_BUFFER_S:
            return self._indexer.notes
        held = f"the driver's buffer holds {self.buffer_s:.2g} s, and overflows when this host is busy for longer"
        return (
            f"{held}; to have a larger one, be root, or run `sudo comedi_config --read-buffer 4096 /dev/comedi0`",
            *self._indexer.notes,
        )

    def start(self, first_index: int) -> TimePair:
        """Begin to sample."""
        self._rest, self._error = b"", None
        try:
            self._board.command(self._inputs, self._scan_ns)
        except OSError as error:
            raise _unusable(self.device, error) from None
        self._running = True
        return self._indexer.begin(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Return a batch of scans. After an overflow or a silence of the board, start again and return a gap."""
        self._clock.sleep(min(timeout_s, self._batch_s))
        try:
            data, emptied = self._take(timeout_s)
        except OSError as error:
            if error.errno != errno.EPIPE:
                raise _unusable(self.device, error) from None
            return self._begin_anew(Reason.OVERFLOW)
        if data:
            columns = self._columns(data)
            items = (self._indexer.block(columns),) if len(columns[0]) else ()
            return Reading(items, self._indexer.up_to_date() if emptied and items else None)
        if self._indexer.silent_s > self._silent_s:
            return self._begin_anew(Reason.STALL)
        return Reading((), None)

    def stop(self) -> None:
        """End the sampling."""
        if self._running:
            self._running = False
            self._board.cancel()

    def _take(self, timeout_s: float) -> tuple[bytes, bool]:
        """The driver's data, and whether that is all. Keeps an error that follows some data for the next read."""
        if self._error:
            error, self._error = self._error, None
            raise error
        parts = [self._board.read(timeout_s)]
        while parts[-1] and len(parts) < MOST_READS:
            try:
                parts.append(self._board.read(0))
            except OSError as error:
                self._error = error
                return b"".join(parts), False
        return b"".join(parts), not parts[-1]

    def _columns(self, data: bytes) -> list[NDArray[Any]]:
        """Split data into signed columns. Bytes of an unfinished scan wait for the next read."""
        data = self._rest + data
        whole = len(data) // self._scan_bytes * self._scan_bytes
        self._rest = data[whole:]
        scans = np.frombuffer(data[:whole], self._sample).reshape(-1, len(self._inputs))
        top = self._sample.type(1 << (8 * self._sample.itemsize - 1))
        signed = (scans ^ top).view(f"<i{self._sample.itemsize}")
        return [np.ascontiguousarray(signed[:, column]) for column in range(len(self._inputs))]

    def _begin_anew(self, reason: Reason) -> Reading:
        """Start again. The samples since the last read are lost."""
        self._rest = b""
        self._board.cancel()
        try:
            self._board.command(self._inputs, self._scan_ns)
        except OSError as error:
            raise _unusable(self.device, error) from None
        gap = self._indexer.lose_until_now(reason)
        return Reading((gap,), self._indexer.up_to_date())


def _unusable(device: str, error: OSError) -> SourceError:
    if error.errno in GONE:
        return UnpluggedError(f"{device} went away: {error.strerror}")
    return SourceError(f"{device}: {error.strerror}; `dmesg` may say more")


def _input(board: Board, number: int, volts: float, aref: int) -> Input:
    if not 0 <= number < board.inputs:
        raise SpecError(f"{board.name} has inputs 0 to {board.inputs - 1}, not {number}")
    return Input(number, narrowest(board.ranges(number), volts, board.name), aref)


def narrowest(ranges: list[Range], volts: float, device: str) -> int:
    """The index of the smallest range from -`volts` to +`volts`; without one, of the smallest from 0 to `volts`.

    Bipolar ranges come first because a return-line shunt and its amplifier's zero can be a little negative.
    """
    for low in (-volts, 0.0):
        fitting = [
            (one.high - one.low, index) for index, one in enumerate(ranges) if one.low <= low and one.high >= volts
        ]
        if fitting:
            return min(fitting)[1]
    known = ", ".join(f"{one.low:g} to {one.high:g} V" for one in ranges if one.high > one.low)
    raise SpecError(f"{device} has no range that takes {volts:g} V; it has {known}: divide the voltage, or see `range`")


def _channels(board: Board, inputs: list[Input], measures: tuple[Measures, ...]) -> tuple[Channel, ...]:
    """Make channels of signed values. The top bit is turned over: raw = signed + 2^15 (or 2^31)."""
    half = 1 << (31 if board.wide else 15)
    lines = [_line(board, one, half) for one in inputs]
    ends = [(float(-half), float(board.maxdata(one.number) - half)) for one in inputs]
    scales, offsets = [scale for scale, _ in lines], [offset for _, offset in lines]
    return channels_of(measures, np.dtype(np.int32 if board.wide else np.int16), scales, offsets, ends)


def _line(board: Board, one: Input, half: int) -> tuple[float, float]:
    """Volts per count, and volts at signed 0, of the calibration. Raises SourceError if it is no straight line.

    The line is the chord of the polynomial over the raw values.
    """
    polynomial, top = board.converter(one), board.maxdata(one.number)
    raw = np.linspace(0, top, 65)
    volts = np.polynomial.Polynomial(polynomial.coefficients)(raw - polynomial.origin)
    scale = float(volts[-1] - volts[0]) / top
    bend = np.abs(volts - (volts[0] + scale * raw)).max()
    if scale == 0 or bend > abs(scale) * LINEAR_WITHIN:
        raise SourceError(
            f"{board.name}, input {one.number}: its calibration is not a straight line (it bends by {bend:.3g} V);"
            " take another range, or calibrate the board again"
        )
    return scale, float(volts[0]) + scale * half


def make(spec: Spec, clock: Clock) -> Comedi:
    """Make a source of a comedi board."""
    return Comedi(Board(spec.place or "/dev/comedi0"), spec, clock)


def find() -> list[Found]:
    """All boards behind /dev/comediN, or what is missing to use one."""
    try:
        libcomedi.library()
    except SourceError as error:
        return [Found("comedi", None, str(error), libcomedi.GET_LIBRARY)]
    found = [_found(path) for path in sorted(Path("/dev").glob("comedi[0-9]*")) if "subd" not in path.name]
    nothing = Found("comedi", None, "no board: no /dev/comedi0", "sudo modprobe ni_pcimio")
    return [one for one in found if one] or [nothing]


def _found(path: Path) -> Found | None:
    if not os.access(path, os.R_OK | os.W_OK):
        return Found("comedi", None, f"{path}: only group iocard may use it", "sudo adduser $USER iocard")
    try:
        board = Board(str(path))
    except SourceError:
        return None  # a minor without a board, or a board that can't stream
    board.close()
    says = f"{board.name} ({board.driver}), {board.inputs} inputs"
    return Found("comedi", {"kind": "comedi"} | EXAMPLE | {"place": str(path)}, says)


INPUTS = list_of(number(0, 1000, whole=True), unique=True)
VOLTS = list_of(number(1e-6))
ONE_OF_AREFS = {"enum": list(AREFS)}
EXAMPLE = {"place": "/dev/comedi0", "channels": [0, 1], "range": [0.5, 10], "rate": 10000}
KIND = Kind(
    "comedi",
    "a data acquisition board of the kernel's comedi, streamed: the paper's NI 6034E",
    "the board",
    EXAMPLE,
    (
        Option("channels", [0, 1], "the inputs, in the order of `measures`", INPUTS),
        MEASURES,
        Option("range", [0.5, 10], "volts that each input must take; the narrowest range that does is used", VOLTS),
        Option("rate", 10000, "samples of each channel a second", number(0.25, 1e7)),
        Option("aref", "diff", "the reference of the inputs: ground, common, diff or other", ONE_OF_AREFS),
        Option("buffer", 2, "seconds of samples that the driver keeps for a busy host", number(0.01, 60)),
    ),
    make,
    find,
)
