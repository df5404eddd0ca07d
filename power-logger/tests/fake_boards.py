# SPDX-License-Identifier: GPL-2.0-or-later
"""A board that counts: the twin of libcomedi.Board. Input n gives scan number + n, modulo 2^16 (2^32)."""

import errno
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_power.sources.clock import Clock
from happe_power.sources.libcomedi import Board, Input, Polynomial, Range

STEP_NS = 50  # of the board's timer
NI_6034E = [Range(-10, 10), Range(-5, 5), Range(-0.5, 0.5), Range(-0.05, 0.05)]


@dataclass
class FakeBoard(Board):
    """Samples by its clock into a buffer that can overflow, like the kernel's. A test sets its fields to break it."""

    clock: Clock
    driver: str = "fake_pcimio"
    name: str = "pci-6034e"
    wide: bool = False
    inputs: int = 16
    slowest_scan_ns: int = 0  # the fastest scan that it grants
    most_buffer: int = 1 << 16
    polynomial: Polynomial | None = None
    silent: bool = False  # gives nothing, says nothing
    gone: bool = False  # unplugged
    short_by: int = 0  # bytes that the next read leaves for later
    commands: int = 0
    ppm: float = 0.0  # how much faster its timer runs
    _buffer: int = 1 << 16
    _running: bool = False
    _scan_ns: int = 0
    _count: int = 0  # inputs of a scan
    _began_us: int = 0
    _taken: int = 0  # bytes since then
    _full_at: int | None = None  # bytes, at the overflow

    def maxdata(self, number: int) -> int:
        """The highest value of 16 or 32 bits."""
        return (1 << (32 if self.wide else 16)) - 1 - 0 * number

    def ranges(self, number: int) -> list[Range]:
        """The ranges, which are the same for every input."""
        return NI_6034E if number < self.inputs else []

    def converter(self, one: Input) -> Polynomial:
        """An ideal conversion, unless the test has set another."""
        chosen = NI_6034E[one.range]
        scale = (chosen.high - chosen.low) / (self.maxdata(one.number) + 1)
        return self.polynomial or Polynomial((chosen.low, scale), 0.0)

    def set_buffer(self, size: int) -> int:
        """Set the buffer, as large as root has allowed."""
        self._buffer = min(size, self.most_buffer)
        return self._buffer

    def granted_ns(self, inputs: list[Input], scan_ns: int) -> int:
        """The nearest time in whole steps of the timer."""
        wanted = max(scan_ns, self.slowest_scan_ns, STEP_NS * len(inputs))
        return round(wanted / STEP_NS) * STEP_NS

    def command(self, inputs: list[Input], scan_ns: int) -> None:
        """Begin at scan 0."""
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")
        self._scan_ns, self._count, self._running = scan_ns, len(inputs), True
        self._began_us = self.clock.now().monotonic_us
        self._taken, self._full_at = 0, None
        self.commands += 1

    def cancel(self) -> None:
        """End the sampling."""
        self._running = False

    def read(self, timeout_s: float) -> bytes:
        """Return the samples since the last read, or raise the overflow after the last sample that fitted."""
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")
        if not self._running:
            raise OSError(errno.EINVAL, "Invalid argument")
        if self.silent or self._there() == self._taken:
            self.clock.sleep(timeout_s)
        end = self._there()
        if end == self._taken and self._full_at is not None:
            self._running = False
            raise OSError(errno.EPIPE, "Broken pipe")
        if self.silent:
            return b""
        data = self._bytes(self._taken, end - self.short_by)
        self._taken, self.short_by = end - self.short_by, 0
        return data

    def close(self) -> None:
        """Do nothing, as there is no device file."""

    def _there(self) -> int:
        """The count of sampled bytes; it stops at an overflow."""
        passed_ns = (self.clock.now().monotonic_us - self._began_us) * 1000 * (1 + self.ppm / 1e6)
        sampled = int(passed_ns // self._scan_ns) * self._count * self._width
        if self._full_at is None and sampled - self._taken > self._buffer:
            self._full_at = self._taken + self._buffer
        return sampled if self._full_at is None else self._full_at

    @property
    def _width(self) -> int:
        return 4 if self.wide else 2

    def _bytes(self, begin: int, end: int) -> bytes:
        scan = self._count * self._width
        numbers = np.arange(begin // scan, end // scan + 1)[:, None] + np.arange(self._count)
        raw = numbers.astype("<u4" if self.wide else "<u2").tobytes()
        return raw[begin % scan : begin % scan + end - begin]


OVERWRITTEN, TIMED_OUT, GONE, BAD_CHANNEL = -200279, -200284, -201003, -200170


class Error(Exception):
    """nidaqmx.errors.Error; raised alone, it means that the driver is missing."""


class DaqError(Error):
    """An error of the driver, as nidaqmx.errors.DaqError."""

    def __init__(self, message: str, error_code: int) -> None:
        """Take the same arguments as nidaqmx.errors.DaqError."""
        super().__init__(message)
        self.error_code = error_code


class AcquisitionType(Enum):
    """nidaqmx.constants.AcquisitionType."""

    CONTINUOUS = 10123


class TerminalConfiguration(Enum):
    """nidaqmx.constants.TerminalConfiguration."""

    DEFAULT = -1
    RSE = 10083
    NRSE = 10078
    DIFF = 10106


@dataclass
class FakeNi:
    """The package. A test sets its fields to break the board; input n gives sample number + n, in millivolts."""

    clock: Clock
    gone: bool = False
    driver: bool = True  # NI's own driver is installed
    most_inputs: int = 16
    opened: int = 0
    closed: int = 0
    errors: Any = field(default_factory=lambda: SimpleNamespace(DaqError=DaqError, Error=Error))
    buffers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the package's modules."""
        self.constants = SimpleNamespace(AcquisitionType=AcquisitionType, TerminalConfiguration=TerminalConfiguration)
        self.system = SimpleNamespace(
            Device=lambda name: SimpleNamespace(product_type="PCI-6034E", serial_num=0xBEEF, name=name)
        )
        self.stream_readers = SimpleNamespace(AnalogMultiChannelReader=Reader)

    def Task(self) -> "FakeTask":  # noqa: N802 - nidaqmx.Task
        """Make a task on this board."""
        if not self.driver:
            raise Error("Could not find an installation of NI-DAQmx.")
        self.check()
        self.opened += 1
        return FakeTask(self)

    def check(self) -> None:
        """Raise DaqError if the board is gone."""
        if self.gone:
            raise DaqError("Device cannot be accessed. Possible causes: Device is no longer present.", GONE)


class FakeTask:
    """nidaqmx.Task, with its timing, channels and stream in one."""

    def __init__(self, ni: FakeNi) -> None:
        """Take the board."""
        self.ni = ni
        self.inputs: list[int] = []
        self.samp_clk_rate = 0.0
        self.taken = 0
        self._began_us: int | None = None
        self._kept = 0
        self.timing = self.ai_channels = self.in_stream = self

    def add_ai_voltage_chan(self, name: str, *, terminal_config: Enum, min_val: float, max_val: float) -> None:
        """Add a channel."""
        number = int(name.rpartition("/ai")[2])
        if number >= self.ni.most_inputs or terminal_config is None or min_val >= max_val:
            raise DaqError(f"Physical channel specified does not exist on this device: {name}", BAD_CHANNEL)
        self.inputs.append(number)

    def cfg_samp_clk_timing(self, rate: float, *, sample_mode: Enum, samps_per_chan: int) -> None:
        """Set a continuous sampling, with a buffer."""
        if sample_mode is not AcquisitionType.CONTINUOUS:
            raise DaqError("a finite task would end by itself", BAD_CHANNEL)
        self.samp_clk_rate = rate
        self._kept = samps_per_chan
        self.ni.buffers.append(samps_per_chan)

    def start(self) -> None:
        """Begin the task."""
        self.ni.check()
        self._began_us = self.ni.clock.now().monotonic_us

    def close(self) -> None:
        """End the task."""
        self.ni.closed += 1

    @property
    def avail_samp_per_chan(self) -> int:
        """The number of samples of each channel that were not taken yet. Raises DaqError."""
        self.ni.check()
        if self._began_us is None:
            raise DaqError("the task was not started", BAD_CHANNEL)
        passed = self.ni.clock.now().monotonic_us - self._began_us
        waiting = int(passed * self.samp_clk_rate / 1e6) - self.taken
        if waiting > self._kept:
            raise DaqError("samples no longer available: overwritten by newer ones", OVERWRITTEN)
        return waiting


class Reader:
    """nidaqmx.stream_readers.AnalogMultiChannelReader."""

    def __init__(self, task: FakeTask) -> None:
        """Take a task's stream."""
        self._task = task

    def read_many_sample(self, data: NDArray[np.float64], *, number_of_samples_per_channel: int, timeout: float) -> int:
        """Fill `data`, and return the number of samples of each channel. Raises DaqError."""
        if self._task.avail_samp_per_chan < number_of_samples_per_channel:
            self._task.ni.clock.sleep(timeout)
        count = min(number_of_samples_per_channel, self._task.avail_samp_per_chan)
        if count < number_of_samples_per_channel:
            raise DaqError("some or all of the samples requested have not yet been acquired", TIMED_OUT)
        for row, number in zip(data, self._task.inputs, strict=True):
            row[:count] = [(self._task.taken + place + number) * 1e-3 for place in range(count)]
        self._task.taken += count
        return count
