# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the package nidaqmx that the source uses, with a board that counts. NI simulates only on Windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from happe_power.sources.clock import Clock

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
    granted: float = 1.0  # the granted share of the wanted rate
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

    def Task(self) -> FakeTask:  # noqa: N802 - nidaqmx.Task
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
        self.samp_clk_rate = rate * self.ni.granted
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
