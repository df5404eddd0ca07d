# SPDX-License-Identifier: GPL-2.0-or-later
"""The measuring station: happe-power with a simulated T61 that follows the emulated T61's messages.

usage: station.py [--config FILE] record --source FILE ...      all else is happe-power's

FILE has a table of the kind `sim`, whose place is a SOCKET. The laptop sends lines "KHZ SHARE" to it. A line is valid
from its arrival to the next one's. Before the first line the laptop idles. Noise, drift, 16 bits and a wrong rate are
those of the source `sim`.
"""

from __future__ import annotations

import dataclasses
import socket
import threading
from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING

from happe_power import sources
from happe_power.cli.program import main
from happe_power.sources import sim, t61
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from happe_contract.traces import TimePair
    from happe_power.sources.clock import Clock
    from happe_power.sources.spec import Spec

IDLE = (800_000, 0.0)


class Laptop:
    """The power of the laptop, calculated from its messages. Times are CLOCK_MONOTONIC in microseconds."""

    def __init__(self) -> None:
        """Begin with an idle laptop."""
        table = t61.table_a2()
        self._from_us, self._watts = [0], [table.at(*IDLE)]

    def told(self, at_us: int, line: str) -> None:
        """Take a line that came at this time, after the previous one. Raises ValueError if the line is invalid."""
        khz, share = line.split()
        self._watts.append(t61.table_a2().at(int(khz), float(share)))
        self._from_us.append(at_us)

    def watts(self, edges_us: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean watts between each of these times and the next. No time may be in the future."""
        known = min(len(self._from_us), len(self._watts))
        first = max(bisect_right(self._from_us, float(edges_us[0])) - 1, 0)
        return t61.Load(tuple(self._from_us[first:known]), tuple(self._watts[first:known])).means(edges_us)


@dataclasses.dataclass(frozen=True)
class Followed(t61.Load):
    """The load of a laptop from one moment on."""

    laptop: Laptop
    since_us: list[int]  # the moment, once it is known

    def means(self, edges_us: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean watts between times after the moment."""
        return self.laptop.watts(edges_us + self.since_us[0])


class Station(sim.Sim):
    """The simulated rig of a laptop that sends messages."""

    def __init__(self, rig: sim.Rig, load: Followed, clock: Clock) -> None:
        """Make it like the simulated T61 in real time."""
        super().__init__(rig, clock, paced=True)
        self.load = load

    def start(self, first_index: int) -> TimePair:
        """Begin. Sample 0 sets the moment."""
        pair = super().start(first_index)
        if not self.load.since_us:
            self.load.since_us.append(pair.monotonic_us)
        return pair


def make(spec: Spec, clock: Clock) -> Station:
    """Connect to the socket."""
    laptop = Laptop()
    load = Followed((0,), (0.0,), laptop, [])
    noise, drift, ppm = (spec.number(name) for name in ("noise", "drift", "ppm"))
    rig = sim.Rig(load, spec.number("rate"), noise, drift, ppm, seed=spec.whole("seed"))
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(spec.place)
    except OSError as error:
        connection.close()
        raise SourceError(f"{spec.place}: {error.strerror}; is the laptop switched on?") from None
    threading.Thread(target=take, args=(connection, laptop, clock), daemon=True).start()
    return Station(rig, load, clock)


def take(connection: socket.socket, laptop: Laptop, clock: Clock) -> None:
    """Take the lines of a connection as they come, until the laptop is off."""
    with suppress(ConnectionError), connection, connection.makefile() as lines:
        for line in lines:
            laptop.told(clock.now().monotonic_us, line)


if __name__ == "__main__":
    sources.KINDS["sim"] = dataclasses.replace(sources.KINDS["sim"], make=make)
    main()
