# SPDX-License-Identifier: GPL-2.0-or-later
"""Polls the battery's own gauge. Kernel document: Documentation/ABI/testing/sysfs-class-power."""

from pathlib import Path

import numpy as np

from happe_contract.traces import Channel, Measures, TimePair
from happe_power.sources import poller
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.poller import Poller, Row
from happe_power.sources.source import SourceError
from happe_power.sources.spec import Found, Kind, Option, Spec, number

FOLDER = "class/power_supply"
DISCHARGING = "Discharging"
# Attribute to channel; microwatts, microvolts, microamperes.
GAUGES = {
    "power_now": (Measures.POWER, "W"),
    "voltage_now": (Measures.SUPPLY, "V"),
    "current_now": (Measures.CURRENT, "A"),
}
MICRO = 1e-6


class PowerSupply(Poller):
    """A source that reads a battery's gauge: the power that the machine takes from the battery.

    If the battery does not discharge, a reading does not show the machine's power, and becomes a gap `invalid`.
    """

    kind = "power_supply"

    def __init__(self, battery: Path, rate_hz: float, clock: Clock) -> None:
        """Find the gauges. Raises SourceError without a gauge of power, or of both voltage and current."""
        self._battery = battery
        self._gauges = gauges_of(battery)
        self.device = " ".join([battery.name, *_told(battery, ("manufacturer", "model_name"))])[:200]
        self.serial = next(iter(_told(battery, ("serial_number",))), None)
        channels = [
            Channel(what.value, what, unit, np.dtype(np.int32), MICRO, 0.0)
            for what, unit in (GAUGES[gauge] for gauge in self._gauges)
        ]
        super().__init__(self._sample, channels, rate_hz, clock)
        self._renewal = Renewal()

    @property
    def notes(self) -> tuple[str, ...]:
        """How seldom the gauge renews its values, as far as the source has seen."""
        return (
            f"{self._battery.name}: {self._renewal.said()}; these figures are the battery's own, without calibration",
        )

    def start(self, first_index: int) -> TimePair:
        """Begin to poll. Raises SourceError unless the battery discharges."""
        status = poller.word(self._battery / "status")
        if status != DISCHARGING:
            raise SourceError(
                f"{self._battery.name} is {status}: it measures the machine's power only on battery; unplug the mains"
            )
        return super().start(first_index)

    def _sample(self) -> Row | None:
        if poller.word(self._battery / "status") != DISCHARGING:
            return None
        row = tuple(
            abs(poller.number(self._battery / gauge)) for gauge in self._gauges
        )  # some count discharge negative
        self._renewal.see(row, self._clock.now().monotonic_us)
        return row if all(value < 1 << 31 for value in row) else None


class Renewal:
    """Finds how long a gauge repeats a value. Most gauges measure once in some seconds, and repeat that value."""

    def __init__(self) -> None:
        """Begin without a reading."""
        self._row: Row | None = None
        self._since_us: int | None = None
        self._shortest_us: int | None = None

    def see(self, row: Row, at_us: int) -> None:
        """Note that the gauge showed these values at this time."""
        if row == self._row:
            return
        if self._since_us is not None:
            lasted = at_us - self._since_us
            self._shortest_us = min(self._shortest_us or lasted, lasted)
        if self._row is not None:
            self._since_us = at_us
        self._row = row

    @property
    def seconds(self) -> float | None:
        """The shortest time between two changes; None before two."""
        return None if self._shortest_us is None else self._shortest_us / MICROS

    def said(self) -> str:
        """Describe the renewal, as a phrase for people."""
        if self.seconds is None:
            return "the gauge has changed less than twice; many change once in 1 to 60 s"
        return f"the gauge renews itself every {self.seconds:.2g} s or less often; it can't show shorter changes"


def gauges_of(battery: Path) -> list[str]:
    """The attributes that together give the power. Raises SourceError if the battery lacks them."""
    if (battery / "power_now").exists():
        return ["power_now"]
    if (battery / "voltage_now").exists() and (battery / "current_now").exists():
        return ["voltage_now", "current_now"]
    raise SourceError(f"{battery.name} has no gauge: neither power_now nor voltage_now and current_now")


def _told(battery: Path, attributes: tuple[str, ...]) -> list[str]:
    words = [poller.word(battery / name) for name in attributes if (battery / name).exists()]
    return [text[:100] for text in words if text]


def batteries_in(folder: Path) -> list[Path]:
    """The machine's own batteries, without those of devices such as mice."""
    return sorted(
        one
        for one in folder.glob("*")
        if (one / "type").exists()
        and poller.word(one / "type") == "Battery"
        and not ((one / "scope").exists() and poller.word(one / "scope") == "Device")
    )


def make(spec: Spec, clock: Clock) -> PowerSupply:
    """Make a source of a battery's gauge."""
    known = {battery.name: battery for battery in batteries_in(poller.SYS / FOLDER)}
    if not known:
        raise SourceError("this machine has no battery")
    name = spec.place or next(iter(known))
    if name not in known:
        raise spec.wrong("place", f"there is no battery {name!r}; there is {', '.join(known)}")
    return PowerSupply(known[name], spec.number("rate"), clock)


def find() -> list[Found]:
    """All batteries of the machine."""
    found = [_found(battery) for battery in batteries_in(poller.SYS / FOLDER)]
    return found or [Found("power_supply", None, "this machine has no battery")]


def _found(battery: Path) -> Found:
    try:
        gauges = gauges_of(battery)
    except SourceError as error:
        return Found("power_supply", None, str(error))
    status = poller.word(battery / "status")
    says = f"{battery.name}, {status}: its own gauge ({', '.join(gauges)}), which renews itself once in 1 to 60 s"
    if status != DISCHARGING:
        return Found("power_supply", None, f"{says}; it measures the machine's power only on battery: unplug the mains")
    return Found("power_supply", {"kind": "power_supply", "place": battery.name, "rate": 1}, says)


KIND = Kind(
    "power_supply",
    "the battery's own gauge, coarse and slow",
    "the battery's name",
    {"place": "BAT0", "rate": 1},
    (Option("rate", 1, "readings a second; most gauges change less often", number(0)),),
    make,
    find,
)
