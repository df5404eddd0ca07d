# SPDX-License-Identifier: GPL-2.0-or-later
"""The report during a recording: once a second, on a line or as JSON, and to systemd."""

import json
import math
import os
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from happe_contract.calibration import Calibration, Standing, standing
from happe_contract.measuring.refusal import Refusal
from happe_contract.measuring.rig import columns
from happe_contract.rig import Rig, rig_of
from happe_contract.traces import Block, Channel, ClockEstimate, Measures
from happe_power.sources.source import Reading

LIVE = "live.json"  # in a trace's folder, during the recording: the figures of the latest second
RUNS_WITHIN_S = 5.0
KIB = 1024
OLD_S = 180  # three estimates of a clock have failed


@dataclass(frozen=True)
class Figures:
    """One second's figures. `watts` is the latest samples' mean; None: no samples, or `note` says why.

    `energy_j` is the energy of all samples so far: the sum of each second's watts times the time of its samples.
    `rate_hz` counts the samples since the last figures, by the source's own times. `spool_bytes` is the size of the
    traces on the disk.
    """

    watts: float | None
    note: str
    samples: int
    lost: int
    rate_hz: float
    spool_bytes: int
    clock_offset_us: int | None
    clock_uncertainty_us: int | None
    clock_age_s: float | None
    trouble: str
    energy_j: float | None = None

    def line(self) -> str:
        """The figures as a line of text."""
        watts = "no watts" if self.watts is None else f"{self.watts:z.2f} W"
        words = [watts, f"{self.rate_hz:.5g}/s", f"lost {self.lost}", f"spool {sized(self.spool_bytes)}", self._clock()]
        notes = [note for note in (self.trouble, self.note) if note]
        return "  ".join(words) + "".join(f"  [{note}]" for note in notes)

    def json(self) -> str:
        """The figures as a JSON object."""
        return json.dumps(asdict(self))

    def _clock(self) -> str:
        """How far the clock is off the server's."""
        offset_us, uncertainty_us, age_s = self.clock_offset_us, self.clock_uncertainty_us, self.clock_age_s
        if offset_us is None or uncertainty_us is None or age_s is None:
            return "clock not compared"
        ago = f", {age_s / 60:.0f} min ago" if age_s > OLD_S else ""
        return f"clock {offset_us / 1e6:+.4f} s +-{uncertainty_us / 1e3:.1f} ms{ago}"


def leave(folder: Path, said: bytes) -> None:
    """Write the latest report of a recording as live.json into its trace's folder. Does nothing if the disk is full."""
    unfinished = folder / f".{LIVE}"
    with suppress(OSError):
        unfinished.write_bytes(said)
        unfinished.replace(folder / LIVE)


def current(spool: Path) -> tuple[Path, Figures] | None:
    """The latest recording in progress of a spool: its trace's folder, and the figures of its latest second."""
    for path in sorted(spool.glob(f"*/*/{LIVE}"), key=_changed_s, reverse=True):
        if time.time() - _changed_s(path) < RUNS_WITHIN_S:
            with suppress(OSError, ValueError, TypeError):
                return path.parent, Figures(**json.loads(path.read_bytes()))
    return None


def _changed_s(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class Wattmeter:
    """Computes watts from samples by a calibration record. `note` says what is missing or in doubt."""

    def __init__(self, channels: Sequence[Channel], rate_hz: float, calibration: Calibration | None, day: date) -> None:
        """Find which channels give the power, and check the calibration's date."""
        rig = rig_of(channels, calibration)
        worth, said = standing(calibration, day)
        self._rig = None if isinstance(rig, Refusal) else rig
        self._rate_hz = rate_hz
        self.note = rig.detail if isinstance(rig, Refusal) else "" if worth is Standing.GOOD else said

    def watts(self, readings: Iterable[Reading]) -> float | None:
        """The mean power of readings; None without samples, or if the channels give no watts."""
        blocks = [item for reading in readings for item in reading.items if isinstance(item, Block)]
        if self._rig is None or not blocks:
            return None
        counter = self._rig.channel.measures is Measures.ENERGY
        mean = self._slope(self._rig, blocks) if counter else _mean(self._rig, blocks)
        return mean if math.isfinite(mean) else None

    def _slope(self, rig: Rig, blocks: Sequence[Block]) -> float:
        """Watts of an energy counter, from the first of some samples to the last."""
        pieces = list(columns(rig, blocks))
        (first, values, _), (last, ends, _) = pieces[0], pieces[-1]
        passed = (last + len(ends) - 1 - first) / self._rate_hz
        return rig.gain.value * float(ends[-1] - values[0]) / passed if passed else math.nan


def _mean(rig: Rig, blocks: Sequence[Block]) -> float:
    powers = [rig.power(x, y) for _, x, y in columns(rig, blocks)]
    return math.fsum(float(power.sum()) for power in powers) / sum(len(power) for power in powers)


def sized(count: float) -> str:
    """A number of bytes as text for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < KIB or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= KIB
    raise AssertionError("a unit fits")


def bytes_of(spool: Path) -> int:
    """The size of a spool. Skips files that disappear during the count."""
    total = 0
    for path in spool.glob("*/*/*/*"):
        try:
            total += path.stat().st_size
        except OSError:
            continue
    return total


def latest(clocks: Sequence[ClockEstimate], now_us: int) -> dict[str, Any]:
    """The clock's part of the figures; `now_us` by CLOCK_MONOTONIC."""
    if not clocks:
        return {"clock_offset_us": None, "clock_uncertainty_us": None, "clock_age_s": None}
    last = clocks[-1]
    return {
        "clock_offset_us": last.offset_us,
        "clock_uncertainty_us": last.uncertainty_us,
        "clock_age_s": round((now_us - last.monotonic_us) / 1e6, 1),
    }


def tell(*fields: str) -> None:
    """Send fields such as READY=1. Does nothing without a listener."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.sendto("\n".join(fields).encode(), f"\0{address[1:]}" if address[0] == "@" else address)
    except OSError:  # systemd is gone or busy; the recording continues
        return
