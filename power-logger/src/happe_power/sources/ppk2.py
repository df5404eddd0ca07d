# SPDX-License-Identifier: GPL-2.0-or-later
"""Nordic Semiconductor's Power Profiler Kit II as an ampere meter, by ppk2-api: 100,000 samples a second, 1 A, 5 V.

The library opens the port, sends commands and reads the calibration that the kit keeps. But it gives filtered samples
without their counters, so this module splits the words, as Nordic's own pc-nrfconnect-ppk does: 14 bits of the
converter, 3 of the range, 6 of a counter, 8 of digital inputs. The formula of the current is the library's.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import Block, Gap, Measures, Reason
from happe_power.sources.ledger import Ledger
from happe_power.sources.source import Reading, SourceError, UnpluggedError
from happe_power.sources.spec import Found, Kind, Option, Spec, channels_of, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_contract.traces import TimePair
    from happe_power.sources.clock import Clock

PACKAGE = "ppk2_api.ppk2_api"
GET_PACKAGE = "pip install happe-power-logger[ppk2]"
RATE_HZ = 100_000.0
RANGES = 5
TOP = (1 << 14) - 1
COUNTERS = 64
WORD = np.dtype("<u4")
LEAST_RUN = 8  # words with consecutive counters; fewer may be chance
MOST_STRANGE = 4096  # words without consecutive counters
BATCH = 512  # words to wait for: half of the kernel's terminal buffer
MOST_TAKEN = 1 << 18  # bytes


class Ppk2:
    """A source that reads a kit. A jump between words is a loss; the kit's counter and the clock give its size."""

    kind = "ppk2"

    def __init__(self, module: Any, port: str, volt: float, clock: Clock, rate_hz: float = RATE_HZ) -> None:  # noqa: ANN401
        """`module` is ppk2_api; `volt` is the supply of the measured device. Raises SourceError without a kit."""
        self._module, self._port, self._volt, self._clock = module, port, volt, clock
        self._kit: Any = None
        self.rate_hz = rate_hz
        self._ledger = Ledger(rate_hz, clock)
        self._rest = b""
        self._counter: int | None = None
        self._strange = 0
        self._gone = False
        try:
            modifiers = self._open()
            self._amperes = Amperes(modifiers, volt)
            told = str(modifiers["HW"]).strip()
        finally:
            self.stop()
        self.device = f"Power Profiler Kit II {told} ({port})"[:200]
        self.serial: str | None = None
        highest = float(self._amperes(np.array([RANGES - 1]), np.array([TOP]))[0])
        self.channels = channels_of([Measures.CURRENT], np.dtype(np.float32), [1.0], [0.0], [(None, highest)])

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the rate differs from the nominal one."""
        return self._ledger.notes

    def start(self, first_index: int) -> TimePair:
        """Begin to measure."""
        self.stop()
        self._open()
        self._rest, self._counter, self._strange = b"", None, 0
        self._do(self._kit.start_measuring)
        return self._ledger.begin(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Return new samples and gaps. Raises SourceError if many words have no consecutive counters."""
        if self._kit is None:
            raise SourceError(f"{self._port} was not started")
        self._clock.sleep(min(timeout_s, BATCH / self.rate_hz))
        data = self._rest
        while (more := self._do(self._kit.get_data)) and len(data) < MOST_TAKEN:
            data += more
        items = self._items(data)
        if self._strange > MOST_STRANGE:
            raise SourceError(f"{self._port}: the data are no samples of a Power Profiler Kit II")
        emptied = len(self._rest) < LEAST_RUN * WORD.itemsize
        return Reading(tuple(items), self._ledger.up_to_date() if items and emptied else None)

    def stop(self) -> None:
        """Stop measuring and close the port."""
        if self._kit is not None:
            kit, self._kit = self._kit, None
            if not self._gone:
                kit.stop_measuring()
            with suppress(Exception):
                kit.ser.close()

    def _open(self) -> dict[str, Any]:
        """Open the kit as an ampere meter, and return its calibration. Raises SourceError if it is no kit."""
        self._gone = False
        try:
            self._kit = self._module.PPK2_API(self._port, timeout=1, write_timeout=1, exclusive=True)
        except (OSError, ValueError) as error:  # SerialException is an OSError
            raise UnpluggedError(f"{self._port}: {error}") from None
        self._do(self._kit.stop_measuring)
        self._do(self._kit.ser.reset_input_buffer)
        if not self._do(self._kit.get_modifiers) or self._kit.modifiers["HW"] is None:
            self.stop()
            raise SourceError(f"{self._port} does not answer as a Power Profiler Kit II does")
        self._do(self._kit.use_ampere_meter)
        self._do(lambda: self._kit.set_source_voltage(round(self._volt * 1000)))
        modifiers: dict[str, Any] = self._kit.modifiers
        return modifiers

    def _do(self, call: Any) -> Any:  # noqa: ANN401 - what the library gives
        try:
            return call()
        except (OSError, TypeError) as error:  # pyserial raises either if the port is gone
            self._gone = True  # so `stop` sends nothing: the library would only log an error
            raise UnpluggedError(f"{self._port}: {error}") from None
        except ValueError:
            return None  # its metadata are no text

    def _items(self, data: bytes) -> list[Block | Gap]:
        """Turn words with consecutive counters into samples and gaps. Words at the end may wait for more."""
        whole = len(data) // WORD.itemsize
        words = np.frombuffer(data, WORD, whole)
        counters = (words >> 18).astype(np.int64) % COUNTERS
        turns = np.flatnonzero(np.diff((counters - np.arange(whole)) % COUNTERS)) + 1
        begins, ends = [0, *turns.tolist()], [*turns.tolist(), whole]
        items: list[Block | Gap] = []
        taken = dropped = 0
        for begin, end in zip(begins, ends, strict=True):
            if end - begin < LEAST_RUN:
                if end == whole:
                    break  # the next words show whether these are samples
                dropped += end - begin
                continue
            items += self._after(int(counters[begin]), dropped, whole - begin)
            items.append(self._ledger.block([self._amperes(words[begin:end] >> 14 & 7, words[begin:end] & TOP)]))
            self._counter, taken, dropped = int(counters[end - 1] + 1) % COUNTERS, end, 0
        self._strange = 0 if items else whole
        self._rest = data[taken * WORD.itemsize :]
        return items

    def _after(self, counter: int, dropped: int, waiting: int) -> list[Gap]:
        """The gap before a word with this counter, if any. The counter gives the loss modulo 64, the clock the 64s."""
        if self._counter is None:
            return []
        lost = (counter - self._counter) % COUNTERS
        if not lost and not dropped:
            return []
        by_clock = max(dropped, self._ledger.missing(waiting))
        lost += COUNTERS * max(0, round((by_clock - lost) / COUNTERS))
        return [self._ledger.lose(lost, Reason.INVALID if dropped else Reason.OVERFLOW)] if lost else []


class Amperes:
    """Computes currents by the library's formula (get_adc_result), for many samples at once and without its filter."""

    def __init__(self, modifiers: dict[str, Any], volt: float) -> None:
        """Take a kit's calibration, and the supply of the measured device in volts."""
        constants = {
            key: [float(modifiers[key][str(r)]) for r in range(RANGES)]
            for key in ("R", "GS", "GI", "O", "S", "I", "UG")
        }
        self._of = {key: np.array(values) for key, values in constants.items()}
        self._step = 1.8 / 163840
        self._volt = volt

    def __call__(self, ranges: NDArray[Any], counts: NDArray[Any]) -> NDArray[np.float32]:
        """Return the amperes for the converter's ranges and counts."""
        of = {key: values[np.minimum(ranges, RANGES - 1)] for key, values in self._of.items()}
        plain = (counts * 4.0 - of["O"]) * (self._step / of["R"])
        amperes = of["UG"] * (plain * (of["GS"] * plain + of["GI"]) + of["S"] * self._volt + of["I"])
        return np.asarray(amperes, np.float32)


def _package() -> Any:  # noqa: ANN401 - a module without types
    try:
        return importlib.import_module(PACKAGE)
    except ImportError:
        raise SourceError(f"the package ppk2-api is not installed; `{GET_PACKAGE}`") from None


def make(spec: Spec, clock: Clock) -> Ppk2:
    """Make a source from a spec such as ppk2:/dev/ttyACM0,volt=5."""
    return Ppk2(_package(), spec.place or "/dev/ttyACM0", spec.number("volt"), clock)


def find() -> list[Found]:
    """All kits on USB."""
    try:
        ports = _package().PPK2_API.list_devices()
    except SourceError as error:
        return [Found("ppk2", None, str(error), GET_PACKAGE)]
    return [Found("ppk2", f"ppk2:{port}", "a Power Profiler Kit II") for port in ports] or [
        Found("ppk2", None, "no Power Profiler Kit II on USB")
    ]


KIND = Kind(
    "ppk2",
    "Nordic's Power Profiler Kit II as an ampere meter: 100,000 samples a second, up to 1 A and 5 V",
    "/dev/ttyACM0",
    "ppk2:/dev/ttyACM0,volt=5",
    (Option("volt", "5", "the supply voltage of the measured device, for the kit's formula", number(0.8, 5)),),
    make,
    find,
)
