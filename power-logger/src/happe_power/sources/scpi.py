# SPDX-License-Identifier: GPL-2.0-or-later
"""Polls instruments that speak SCPI, by PyVISA: power meters of Yokogawa, supplies of Keysight and Rigol.

The commands are those of the makers' manuals: Yokogawa IM WT310E-17EN, Keysight E36300 and N6700 programming guides,
Rigol DP800 programming guide.
"""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from happe_contract.traces import Filter, Measures, TimePair
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.poller import Poller, Row
from happe_power.sources.source import SourceError, UnpluggedError
from happe_power.sources.spec import Found, Kind, Option, Spec, channels_of, number

GET_PACKAGE = "pip install happe-power-logger[scpi]"
NOT_A_NUMBER, OVER = 9.91e37, 9.9e37  # SCPI's numbers for these (SCPI-99, 7.2.1.4 and 7.2.1.5)
TIMED_OUT = -1073807339  # VI_ERROR_TMO
MOST_ANSWER = 1000


@dataclass(frozen=True)
class Model:
    """The commands for a family of instruments. {channel} stands for the number of the instrument's channel.

    The answer to `query` has a number for each of `measures`. The answer to `interval`, if there is such a query, is
    the seconds over which the instrument averages each reading.
    """

    maker: str
    measures: tuple[Measures, ...]
    query: str
    setup: tuple[str, ...] = ()
    interval: str = ""


MODELS = {
    "yokogawa_wt": Model(
        "YOKOGAWA",
        (Measures.POWER, Measures.SUPPLY, Measures.CURRENT),
        ":NUMERIC:NORMAL:VALUE?",
        (
            ":COMMUNICATE:HEADER OFF",
            ":NUMERIC:FORMAT ASCII",
            ":NUMERIC:NORMAL:NUMBER 3",
            ":NUMERIC:NORMAL:ITEM1 P,{channel}",
            ":NUMERIC:NORMAL:ITEM2 U,{channel}",
            ":NUMERIC:NORMAL:ITEM3 I,{channel}",
        ),
        ":RATE?",
    ),
    "keysight_supply": Model(
        "KEYSIGHT", (Measures.SUPPLY, Measures.CURRENT), "MEAS:VOLT? (@{channel});:MEAS:CURR? (@{channel})"
    ),
    "rigol_dp": Model("RIGOL", (Measures.SUPPLY, Measures.CURRENT, Measures.POWER), ":MEAS:ALL? CH{channel}"),
}


class Scpi(Poller):
    """A source that asks for each sample. It drops an answer that takes longer than a period: its time is unknown."""

    kind = "scpi"

    def __init__(self, manager: Any, spec: Spec, clock: Clock) -> None:  # noqa: ANN401 - pyvisa.ResourceManager
        """Ask for the instrument's identity. Raises SourceError if it is another, or measures too seldom."""
        self._manager, self._place, self._model = manager, spec.place, MODELS[spec.text_of("model")]
        self._channel, self._timeout_ms = spec.whole("channel"), round(spec.number("timeout") * 1000)
        self._device: Any = None
        measures = self._model.measures
        channels = channels_of(measures, np.dtype(np.float64), ends=[(-OVER, OVER)] * len(measures))
        super().__init__(self._sample, channels, spec.number("rate"), clock)
        try:
            self._identity = ""
            self._identity = self._opened()
            mean = self._mean()
        finally:
            self.stop()
        self.channels = tuple(replace(channel, filter=mean) for channel in self.channels)
        maker, model, serial, *_ = [*map(str.strip, self._identity.split(",")), "", "", ""]
        self.serial: str | None = serial or None
        self.device = f"{maker} {model} ({self._place}, channel {self._channel})"[:200]

    def start(self, first_index: int) -> TimePair:
        """Open the instrument and set its answers up. Its ranges and intervals stay as they are."""
        self.stop()
        identity = self._opened()
        if identity != self._identity:
            self.stop()
            raise SourceError(f"{self._place} says it is {identity!r}, not {self._identity!r} as before")
        return super().start(first_index)

    def stop(self) -> None:
        """Close the connection."""
        if self._device is not None:
            device, self._device = self._device, None
            with suppress(Exception):  # it may be gone
                device.close()

    def _opened(self) -> str:
        """Open the instrument and set it up. Return the identity that it reports."""
        try:
            self._device = self._manager.open_resource(
                self._place,
                open_timeout=self._timeout_ms,
                timeout=self._timeout_ms,
                read_termination="\n",
                write_termination="\n",
            )
        except Exception as error:  # noqa: BLE001 - of PyVISA, its back-end, the operating system
            raise UnpluggedError(f"{self._place}: {_said(error)}") from None
        identity = self._asked("*IDN?").strip()
        if self._model.maker not in identity.upper():
            raise SourceError(f"{self._place} says it is {identity[:80]!r}, not an instrument of {self._model.maker}")
        self._tell("*CLS", *self._model.setup)
        return identity

    def _mean(self) -> Filter | None:
        """The averaging filter, if the instrument states its interval. Raises SourceError if that is too long."""
        if not self._model.interval:
            return None
        seconds = _numbers(self._asked(self._model.interval), 1)
        if seconds is None or not 0 < seconds[0] <= 1 / self.rate_hz * 1.001:
            every = "an unknown time" if seconds is None else f"{seconds[0]:g} s"
            raise SourceError(
                f"{self._place} measures every {every}: {self.rate_hz:g} a second would read the same twice;"
                " a lower `rate`, or the instrument's update interval"
            )
        return Filter("the instrument's update interval", mean_s=float(seconds[0]))

    def _sample(self) -> Row | None:
        asked_us = self._clock.now().monotonic_us
        numbers = _numbers(self._asked(self._model.query), len(self.channels))
        took_s = (self._clock.now().monotonic_us - asked_us) / MICROS
        return numbers if took_s <= 1 / self.rate_hz else None

    def _tell(self, *commands: str) -> None:
        for command in commands:
            self._do(lambda command=command: self._device.write(self._filled(command)))

    def _asked(self, query: str) -> str:
        answer: str = self._do(lambda: self._device.query(self._filled(query)))
        return answer[:MOST_ANSWER]

    def _filled(self, command: str) -> str:
        return command.replace("{channel}", str(self._channel))

    def _do(self, call: Any) -> Any:  # noqa: ANN401 - what PyVISA gives
        """Return the result of a call of PyVISA. Raises SourceError for a timeout, UnpluggedError for another failure.

        After either, the recorder connects again. Else a late answer would pass for the answer to the next query.
        """
        try:
            return call()
        except UnicodeDecodeError:
            return ""  # no text, so no number
        except Exception as error:  # noqa: BLE001 - of PyVISA, its back-end, the operating system
            late = getattr(error, "error_code", None) == TIMED_OUT or isinstance(error, TimeoutError)
            kind = SourceError if late else UnpluggedError
            raise kind(f"{self._place}: {_said(error)}") from None


def _numbers(answer: str, count: int) -> Row | None:
    """The numbers of an answer; None if one is missing or no number. Values out of range are SCPI's infinity."""
    words = answer.replace(";", ",").split(",")
    if len(words) != count:
        return None
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        return None
    if any(math.isnan(each) or math.isclose(abs(each), NOT_A_NUMBER, rel_tol=1e-6) for each in numbers):
        return None
    return tuple(max(-OVER, min(OVER, each)) for each in numbers)


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def make(spec: Spec, clock: Clock) -> Scpi:
    """Make a source of an instrument that speaks SCPI."""
    if not spec.place:
        raise spec.wrong("place", f"which instrument? e.g. {EXAMPLE['place']}")
    return Scpi(_manager(spec.text_of("backend")), spec, clock)


def _manager(backend: str) -> Any:  # noqa: ANN401 - pyvisa.ResourceManager
    try:
        import pyvisa  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise SourceError(f"the package pyvisa is not installed; `{GET_PACKAGE}`") from None
    try:
        return pyvisa.ResourceManager(backend)
    except (ValueError, OSError) as error:
        raise SourceError(f"PyVISA has no back-end {backend}: {_said(error)}") from None


def find() -> list[Found]:
    """Explain how to name an instrument: a search would broadcast on the network."""
    try:
        _manager("@py")
    except SourceError as error:
        return [Found("scpi", None, str(error), GET_PACKAGE)]
    return [
        Found("scpi", {"kind": "scpi"} | EXAMPLE, f"an SCPI instrument, named by its VISA address: {', '.join(MODELS)}")
    ]


EXAMPLE = {"place": "TCPIP::192.168.0.7::INSTR", "model": "yokogawa_wt", "rate": 5}
KIND = Kind(
    "scpi",
    "a power meter or supply that speaks SCPI, by PyVISA: one reading of all channels for each question",
    "its VISA address",
    EXAMPLE,
    (
        Option("model", None, f"the family of the instrument: {', '.join(MODELS)}", {"enum": list(MODELS)}),
        Option("channel", 1, "the instrument's channel or element", number(1, 16, whole=True)),
        Option("rate", 5, "readings a second; no more than the instrument measures", number(0.01, 100)),
        Option("timeout", 2, "seconds to wait for an answer before the source connects again", number(0.1, 60)),
        Option("backend", "@py", "PyVISA's back-end: @py needs no driver, @ivi is the maker's"),
    ),
    make,
    find,
)
