# SPDX-License-Identifier: GPL-2.0-or-later
"""Running average power limit (RAPL): energy counters of the processor, by the kernel's powercap.

Kernel document: Documentation/power/powercap/powercap.rst. The counters do not cover display, disk and losses of the
supply, so their figure is not the paper's whole-system power.
"""

import os
from pathlib import Path

import numpy as np

from happe_contract.traces import Channel, Measures, TimePair
from happe_power.sources import poller
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.poller import Poller, Row
from happe_power.sources.source import SourceError
from happe_power.sources.spec import NAMES, OPTIONAL, Found, Kind, Option, Spec, number

FOLDER = "class/powercap"
MOST_WATTS = 1000.0  # no zone takes more, so a counter can't wrap sooner than this allows
MARGIN = 2.0  # a factor on the growth that is possible, for late readings
MOST_CHANNELS = 16


class Counter:
    """Turns a counter that wraps at `span` (max_energy_range_uj) into one that does not. All in microjoules.

    At a wrap it counts up to one of the processor's own units (some 61 microjoules) too few: the kernel does not say
    which value follows the highest.
    """

    def __init__(self, first: int, span: int) -> None:
        """Begin with the raw value `first`, which counts as 0."""
        self._last = first
        self._span = span
        self.total = 0

    def advance(self, raw: int, most: float) -> int:
        """Return the total at the raw value `raw`, after one wrap at most. Raises SourceError for one beyond `span`.

        A growth of more than `most` since the last value is impossible. Then the counter began again, as after
        hibernation, and the total does too.
        """
        if not 0 <= raw <= self._span:
            raise SourceError(f"an energy counter has the value {raw}, but its max_energy_range_uj is {self._span}")
        step = (raw - self._last) % self._span
        self.total = self.total + step if step <= most else 0
        self._last = raw
        return self.total


class Powercap(Poller):
    """A source that reads the energy counters of some zones: a channel in joules for each."""

    kind = "powercap"
    serial: str | None = None

    def __init__(self, zones: list[Path], rate_hz: float, clock: Clock) -> None:
        """Check the zones. Raises SourceError if a counter can't be read, or could wrap twice between two polls."""
        self._zones = zones
        self._spans = [poller.number(zone / "max_energy_range_uj") for zone in zones]
        if not all(span > 0 for span in self._spans):
            raise SourceError(f"{zones[0]}: max_energy_range_uj is not above 0: its counter's wraps can't be undone")
        names = [_channel_name(poller.word(zone / "name")) for zone in zones]
        self.device = ("powercap " + ", ".join(zone.name for zone in zones))[:200]
        channels = [_channel(name, index, names) for index, name in enumerate(names)]
        super().__init__(self._sample, channels, rate_hz, clock)
        self._ambiguous_us = min(self._spans) / MOST_WATTS  # microjoules by watts
        if MICROS / rate_hz > self._ambiguous_us:
            raise SourceError(f"rate = {rate_hz:g} is too low: a counter may wrap twice between two readings")
        self._counters: list[Counter] = []
        self._read_us = 0

    def start(self, first_index: int) -> TimePair:
        """Begin to poll. Totals go on; they begin at 0 the first time, and if a counter may have wrapped twice."""
        values = self._values()
        if not self._counters or self._may_have_wrapped_twice:
            self._counters = [Counter(value, span) for value, span in zip(values, self._spans, strict=True)]
            self._read_us = self._clock.now().monotonic_us
        return super().start(first_index)

    def _sample(self) -> Row:
        if self._may_have_wrapped_twice:
            raise SourceError(
                "no reading for so long that a counter may have wrapped more than once: the energy in between is"
                " unknown, and the counter begins at 0 again"
            )
        now = self._clock.now().monotonic_us
        most = MARGIN * MOST_WATTS * max(now - self._read_us, MICROS / self.rate_hz)  # watts by microseconds
        row = tuple(counter.advance(value, most) for counter, value in zip(self._counters, self._values(), strict=True))
        self._read_us = now
        return row

    @property
    def _may_have_wrapped_twice(self) -> bool:
        return self._clock.now().monotonic_us - self._read_us > self._ambiguous_us

    def _values(self) -> list[int]:
        return [poller.number(zone / "energy_uj") for zone in self._zones]


def _channel_name(zone: str) -> str:
    """Turn a zone's name into a column's: package-0 becomes package_0."""
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in zone.lower())
    return kept[:28] if kept[:1].isalpha() else f"zone_{kept}"[:28]


def _channel(name: str, index: int, names: list[str]) -> Channel:
    unique = name if names.count(name) == 1 else f"{name}_{index}"
    return Channel(unique, Measures.ENERGY, "J", np.dtype(np.int64), 1e-6, 0.0)


def zones_in(folder: Path) -> list[Path]:
    """All zones with an energy counter, outer ones first."""
    return sorted(zone for zone in folder.glob("*:*") if (zone / "energy_uj").exists())


def make(spec: Spec, clock: Clock) -> Powercap:
    """Make a source of the processor's counters."""
    folder = poller.SYS / FOLDER
    names = spec.items("zones") or [zone.name for zone in zones_in(folder) if zone.name.count(":") == 1]
    if not names:
        raise SourceError(NOTHING.says + "; `happe-power sources` says more")
    if len(names) > MOST_CHANNELS:
        raise spec.wrong("zones", f"at most {MOST_CHANNELS}")
    for name in names:
        if "/" in name or not (folder / name / "energy_uj").exists():
            known = ", ".join(zone.name for zone in zones_in(folder)) or "none"
            raise spec.wrong("zones", f"there is no zone {name!r} with a counter; there are {known}")
    return Powercap([folder / name for name in names], spec.number("rate"), clock)


NOTHING = Found("powercap", None, "this machine has no energy counters of the processor, or is virtual")


def find() -> list[Found]:
    """All zones with a counter, or a note that there is none."""
    zones = zones_in(poller.SYS / FOLDER)
    return [_found(zone) for zone in zones] or [NOTHING]


def _found(zone: Path) -> Found:
    says = f"{poller.word(zone / 'name')}: energy of a part of the processor, not of the whole machine"
    if not os.access(zone / "energy_uj", os.R_OK):
        return Found(
            "powercap", None, f"{zone.name}: only root can read its counter", f"sudo chmod a+r {zone}/energy_uj"
        )
    return Found("powercap", {"kind": "powercap", "zones": [zone.name], "rate": 10}, says)


KIND = Kind(
    "powercap",
    "the processor's own energy counters (RAPL); a channel in joules for each zone",
    "",
    {"zones": ["intel-rapl:0"], "rate": 10},
    (
        Option("zones", OPTIONAL, "the zones to read; without it, the outer ones", NAMES),
        Option("rate", 10, "readings a second; the counters renew about every millisecond", number(0)),
    ),
    make,
    find,
)
