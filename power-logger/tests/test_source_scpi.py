# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruments of SCPI, simulated by pyvisa-sim, on a connection that a test breaks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pyvisa
from pyvisa import constants, errors

from happe_contract.traces import Measures, Reason
from happe_power import sources
from happe_power.source_kit import check_source, tended
from happe_power.sources.clock import VirtualClock
from happe_power.sources.scpi import Scpi
from happe_power.sources.source import SourceError, UnpluggedError

SIMULATED = f"{Path(__file__).parent}/instruments.yaml@sim"
HOUR_S, RATE_HZ = 3600, 2.0


def spec_of(name: str, model: str, backend: str = SIMULATED, **more: float) -> dict[str, Any]:
    """Return the table of a simulated instrument."""
    return {"kind": "scpi", "place": f"TCPIP::{name}::INSTR", "model": model, "backend": backend} | more


@pytest.mark.parametrize(
    ("name", "model", "more", "device", "values"),
    [
        ("wt", "yokogawa_wt", {"rate": 4}, "YOKOGAWA WT310E", {"power": 30.0, "supply": 20.0, "current": 1.5}),
        (
            "keysight",
            "keysight_supply",
            {"channel": 2},
            "Keysight Technologies E36313A",
            {"supply": 19.99, "current": 1.5},
        ),
        (
            "rigol",
            "rigol_dp",
            {"channel": 2},
            "RIGOL TECHNOLOGIES DP832",
            {"supply": 19.999, "current": 1.5, "power": 29.999},
        ),
    ],
)
def test_each_model_gives_what_the_instrument_says(
    name: str, model: str, more: dict[str, Any], device: str, values: dict[str, float]
) -> None:
    source = sources.make(spec_of(name, model, **more), clock := VirtualClock())
    taken = check_source(source, clock, reads=20, timeout_s=0.5)
    assert source.device.startswith(f"{device} (TCPIP::{name}::INSTR")
    assert {each.name: taken.column(number)[0] for number, each in enumerate(source.channels)} == values
    assert taken.gaps == []
    stated = [channel.filter and channel.filter.mean_s for channel in source.channels]
    assert stated == [0.25 if model == "yokogawa_wt" else None] * len(values)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (spec_of("wt", "rigol_dp"), "says it is 'YOKOGAWA,WT310E,C2AB12345E,F1.04', not an instrument of RIGOL"),
        (spec_of("wt", "yokogawa_wt", rate=5), "measures every 0.25 s: 5 a second would read the same twice"),
        (spec_of("nowhere", "yokogawa_wt"), "TCPIP::nowhere::INSTR: "),
        ({"kind": "scpi", "model": "rigol_dp"}, "place: which instrument? e.g. TCPIP"),
        (spec_of("x", "fluke"), 'model: must be one of "yokogawa_wt"'),
        (spec_of("x", "rigol_dp", "@nothing"), "PyVISA has no back-end @nothing"),
    ],
)
def test_what_cannot_be_asked_is_told(spec: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError) as error:
        sources.make(spec, VirtualClock())
    assert said in str(error.value)


@dataclass
class Line:
    """The connection to a simulated instrument, and PyVISA's manager of it. It fails as `fault` says."""

    clock: VirtualClock
    manager: Any
    fault: str = ""
    serial: str = "C2AB12345E"
    answered: int = 0  # readings with an answer in time
    asked: int = 0
    device: Any = None

    def open_resource(self, *arguments: object, **options: object) -> "Line":
        """Open the instrument."""
        self._fail_if_it_is_gone()
        self.device = self.manager.open_resource(*arguments, **options)
        return self

    def write(self, command: str) -> None:
        """Send a command."""
        self._fail_if_it_is_gone()
        self.device.write(command)

    def query(self, question: str) -> str:
        """Ask. The instrument measures as many watts as the clock has seconds."""
        self._fail_if_it_is_gone()
        if "VALUE?" not in question:
            return str(self.device.query(question)).replace("C2AB12345E", self.serial)
        self.asked += 1
        match self.fault:
            case "hang":
                self.clock.sleep(2.0)
                raise errors.VisaIOError(constants.StatusCode.error_timeout)
            case "garbage":
                return ["", "30.0", "30,20,1.5,7", "\x00\xff,,", "NAN,NAN,NAN", "9.91E+37,2,3"][self.asked % 6]
            case "over":
                self.answered += 1
                return "INF,20.0,1.5"
        self.device.write(f":SIM {self.clock.now().monotonic_us / 1e6:.6f},20.0,1.5")
        if self.fault == "slow":
            self.clock.sleep(0.7)
        else:
            self.answered += 1
        return str(self.device.query(question))

    def close(self) -> None:
        """Close."""
        self.device.close()

    def _fail_if_it_is_gone(self) -> None:
        if self.fault == "unplugged":
            raise errors.VisaIOError(constants.StatusCode.error_connection_lost)


@pytest.fixture
def line() -> Line:
    """A connection that works."""
    return Line(VirtualClock(), pyvisa.ResourceManager(SIMULATED))


def source_on(line: Line) -> Scpi:
    """A source at the Yokogawa."""
    return Scpi(line, sources.named(spec_of("wt", "yokogawa_wt", rate=RATE_HZ)), line.clock)


@pytest.mark.slow
def test_an_hour_with_faults_has_each_reading_at_its_time_and_each_loss_as_a_gap(line: Line) -> None:
    source = source_on(line)
    faults = ["", "slow", "", "garbage", "", "hang", "", "unplugged", ""]

    def each(second: float) -> None:
        line.fault = faults[int(second / 20) % len(faults)]

    began_s = line.clock.now().monotonic_us / 1e6
    taken = tended(source, line.clock, HOUR_S, each, timeout_s=1.0)
    # The source invents no row: each answer in time has one row, and there are no others.
    assert taken.rows == line.answered > HOUR_S
    # Each row has its own time: its watts are the second at which its index was due.
    due_s = began_s + taken.indices() / RATE_HZ
    assert np.abs(taken.column(0) - due_s).max() <= 1 / RATE_HZ
    # It records every loss: rows and gaps are all the hour's indices.
    lost = {reason: sum(g.to_index - g.from_index for g in taken.gaps if g.reason is reason) for reason in Reason}
    assert taken.rows + sum(lost.values()) == taken.end_index == pytest.approx(HOUR_S * RATE_HZ, abs=2)
    assert all(lost[reason] > HOUR_S / 20 for reason in (Reason.INVALID, Reason.STALL, Reason.UNPLUGGED))


def test_beyond_its_range_a_channel_stands_at_its_end(line: Line) -> None:
    source = source_on(line)
    line.fault = "over"
    taken = check_source(source, line.clock, reads=10, timeout_s=0.5)
    assert set(taken.column(0)) == {source.channels[0].highest}


def test_another_instrument_in_its_place_is_refused(line: Line) -> None:
    source = source_on(line)
    line.serial = "ANOTHER"
    with pytest.raises(SourceError, match=r"WT310E,ANOTHER,F1.04', not 'YOKOGAWA,WT310E,C2AB12345E,F1.04' as before"):
        source.start(0)
    line.fault = "unplugged"
    with pytest.raises(UnpluggedError, match="VI_ERROR_CONN_LOST"):
        source.start(0)
    assert source.channels[0].measures is Measures.POWER
