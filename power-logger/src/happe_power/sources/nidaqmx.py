# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples boards of National Instruments by NI's own driver and its Python package `nidaqmx`."""

import importlib
from typing import Any

import numpy as np

from happe_contract.traces import Reason, TimePair
from happe_power.sources.clock import Clock
from happe_power.sources.indexer import Indexer, agreed
from happe_power.sources.source import Reading, SourceError, UnpluggedError
from happe_power.sources.spec import MEASURES, NAMES, Found, Kind, Option, Spec, channels_of, list_of, number

PACKAGE = "nidaqmx"
GET_PACKAGE = "pip install happe-power-logger[nidaqmx]"
GET_DRIVER = "see ni.com/drivers for NI-DAQmx for Linux"
BATCH_S = 0.05
LARGEST_BLOCK = 1 << 20
# NI-DAQmx's error codes (nidaqmx.error_codes.DAQmxErrors).
OVERWRITTEN = {-200279, -200361, -200278}  # SAMPLES_NO_LONGER_AVAILABLE, ONBOARD_MEMORY_OVERFLOW, and read past the end
TIMED_OUT = -200284
GONE = {-201003, -200220, -88705, -50405}  # device can't be accessed, is invalid, was not found, or was removed
TERMINALS = {"default": "DEFAULT", "rse": "RSE", "nrse": "NRSE", "diff": "DIFF"}


class Nidaqmx:
    """A source that reads a task of NI-DAQmx. The driver gives calibrated volts."""

    kind = "nidaqmx"

    def __init__(self, module: Any, spec: Spec, clock: Clock) -> None:  # noqa: ANN401 - nidaqmx, or its fake
        """Check the table with the driver; `module` is the package nidaqmx. Raises SourceError with its message."""
        self._ni = module
        self._spec, self._place = spec, spec.place or "Dev1"
        self._names = spec.items("channels")
        self._volts = spec.numbers("range", len(self._names))
        measures = spec.measures(len(self._names))
        self._clock = clock
        self._task: Any = None
        self._task = self._opened()
        try:
            device = module.system.Device(self._place)
            self.device = f"{device.product_type} ({self._place})"[:200]
            self.serial = f"{device.serial_num:X}" if device.serial_num else None
            granted = float(self._task.timing.samp_clk_rate)
            self.rate_hz = agreed(spec.number("rate"), granted, self.device)
        except module.errors.DaqError as error:
            raise self._failed(error) from None
        finally:
            self.stop()
        ends = [(-volts, volts) for volts in self._volts]
        self.channels = channels_of(measures, np.dtype(np.float32), ends=ends)
        self._indexer = Indexer(self.rate_hz, clock)

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the rate differs from the nominal one."""
        return self._indexer.notes

    def start(self, first_index: int) -> TimePair:
        """Start the task."""
        self._run()
        return self._indexer.begin(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Return the driver's samples. If it has overwritten some, start the task again and return a gap."""
        if self._task is None:
            raise SourceError(f"{self.device} was not started")
        self._clock.sleep(min(timeout_s, BATCH_S))
        try:
            columns = self._take(timeout_s)
        except self._ni.errors.DaqError as error:
            if error.error_code == TIMED_OUT:
                return Reading((), None)
            if error.error_code in OVERWRITTEN:
                return self._begin_anew()
            raise self._failed(error) from None
        return Reading((self._indexer.block(list(columns)),), self._indexer.up_to_date())

    def stop(self) -> None:
        """Close the task."""
        if self._task is not None:
            task, self._task = self._task, None
            task.close()

    def _opened(self) -> Any:  # noqa: ANN401 - nidaqmx.Task
        """A task for the channels, not started."""
        task = None
        try:
            task = self._ni.Task()
            self._configure(task)
        except self._ni.errors.DaqError as error:
            if task is not None:
                task.close()
            raise self._failed(error) from None
        return task

    def _configure(self, task: Any) -> None:  # noqa: ANN401 - nidaqmx.Task
        constants, rate_hz = self._ni.constants, self._spec.number("rate")
        terminal = getattr(constants.TerminalConfiguration, TERMINALS[self._spec.text_of("terminal")])
        for name, volts in zip(self._names, self._volts, strict=True):
            task.ai_channels.add_ai_voltage_chan(
                f"{self._place}/{name}", terminal_config=terminal, min_val=-volts, max_val=volts
            )
        task.timing.cfg_samp_clk_timing(
            rate_hz,
            sample_mode=constants.AcquisitionType.CONTINUOUS,
            samps_per_chan=max(1000, int(self._spec.number("buffer") * rate_hz)),
        )

    def _run(self) -> None:
        """Open a task and begin it."""
        self.stop()
        self._task = self._opened()
        try:
            self._task.start()
        except self._ni.errors.DaqError as error:
            self.stop()
            raise self._failed(error) from None

    def _take(self, timeout_s: float) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Wait for a sample, and return all samples: a row for each channel."""
        waiting = min(LARGEST_BLOCK, max(1, int(self._task.in_stream.avail_samp_per_chan)))
        data = np.empty((len(self.channels), waiting))
        reader = self._ni.stream_readers.AnalogMultiChannelReader(self._task.in_stream)
        count = reader.read_many_sample(data, number_of_samples_per_channel=waiting, timeout=timeout_s)
        return data[:, :count].astype(np.float32)

    def _begin_anew(self) -> Reading:
        self._run()
        gap = self._indexer.lose_until_now(Reason.OVERFLOW)
        return Reading((gap,), self._indexer.up_to_date())

    def _failed(self, error: Any) -> SourceError:  # noqa: ANN401 - nidaqmx.errors.DaqError
        said = " ".join(str(error).split())[:200]
        kind = UnpluggedError if error.error_code in GONE else SourceError
        return kind(f"{self._place}: {said}")


def package() -> Any:  # noqa: ANN401 - a module without types
    """Import nidaqmx and the modules used here. Raises SourceError, which says what to install."""
    try:
        module = importlib.import_module(PACKAGE)
        for name in ("constants", "errors", "stream_readers", "system"):
            importlib.import_module(f"{PACKAGE}.{name}")
    except ImportError:
        raise SourceError(f"the package {PACKAGE} is not installed; `{GET_PACKAGE}`") from None
    return module


def make(spec: Spec, clock: Clock) -> Nidaqmx:
    """Make a source of a board of National Instruments."""
    module = package()
    try:
        return Nidaqmx(module, spec, clock)
    except module.errors.Error as error:  # DaqNotFoundError and its like: there is no driver
        raise SourceError(f"NI's driver does not answer: {error}; {GET_DRIVER}"[:300]) from None


def find() -> list[Found]:
    """The devices that NI's driver knows."""
    try:
        module = package()
    except SourceError as error:
        return [Found("nidaqmx", None, str(error), GET_PACKAGE)]
    try:
        devices = [(device.name, device.product_type) for device in module.system.System.local().devices]
    except Exception as error:  # noqa: BLE001 - without NI's driver any of several, not all of nidaqmx's own
        return [Found("nidaqmx", None, f"NI's driver does not answer: {error}"[:200], GET_DRIVER)]
    found = [Found("nidaqmx", {"kind": "nidaqmx"} | EXAMPLE | {"place": name}, what) for name, what in devices]
    return found or [Found("nidaqmx", None, "NI's driver knows no device")]


ONE_OF_TERMINALS = {"enum": list(TERMINALS)}
EXAMPLE = {"place": "Dev1", "channels": ["ai0", "ai1"], "range": [0.5, 10], "rate": 10000}
KIND = Kind(
    "nidaqmx",
    "a board of National Instruments, by NI's own driver",
    "the device's name",
    EXAMPLE,
    (
        Option("channels", ["ai0", "ai1"], "the inputs, in the order of `measures`", NAMES),
        MEASURES,
        Option("range", [0.5, 10], "volts that each input must take", list_of(number(1e-6))),
        Option("terminal", "diff", "the reference of the inputs: default, rse, nrse or diff", ONE_OF_TERMINALS),
        Option("rate", 10000, "samples of each channel a second", number(0.01, 1e7)),
        Option("buffer", 2, "seconds of samples that the driver keeps for a busy host", number(0.01, 60)),
    ),
    make,
    find,
)
