# SPDX-License-Identifier: GPL-2.0-or-later
"""The power of a ThinkPad T61 by Table A.2, for the load of a run record or a script, or a constant load."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_power import marker
from happe_power.sources.clock import MICROS
from happe_power.sources.source import SourceError
from happe_power.sources.text import Bad, Shape, tables

SCRIPT_HEAD = ["seconds", "khz", "utilisation"]
LARGEST_FILE = 8 << 20
ONE_PPM = 1e-6
MOST_SECONDS, MOST_KHZ = 1e9, 1e8


@dataclass(frozen=True)
class PowerTable:
    """Watts by frequency (rows, kHz, ascending) and utilisation (columns, shares of 1, ascending)."""

    khz: tuple[int, ...]
    utilisation: tuple[float, ...]
    watts: NDArray[np.float64]

    def at(self, khz: int, utilisation: float) -> float:
        """Watts, interpolated linearly between the table's figures; beyond its ends, the figure at the end."""
        rows = [float(np.interp(utilisation, self.utilisation, row)) for row in self.watts]
        return float(np.interp(khz, self.khz, rows))


@cache
def table_a2() -> PowerTable:
    """Table A.2, from profiles/t61-power.csv."""
    lines = [line for line in schemas.T61_POWER.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    head, *rows = [line.split(",") for line in lines]
    watts = np.array([[float(word) for word in row[1:]] for row in rows])
    return PowerTable(tuple(int(row[0]) for row in rows), tuple(int(word) / 100 for word in head[1:]), watts)


@dataclass(frozen=True)
class Load:
    """Watts as steps, each from its time in `from_us` (microseconds since the start, ascending from 0) to the next."""

    from_us: tuple[int, ...]
    watts: tuple[float, ...]

    def at(self, times_us: NDArray[np.float64]) -> NDArray[np.float64]:
        """Watts at some times."""
        places = np.searchsorted(np.array(self.from_us, dtype=np.float64), times_us, side="right") - 1
        return np.array(self.watts)[np.maximum(places, 0)]

    def means(self, edges_us: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mean watts between each edge and the next."""
        knots, watts = np.array(self.from_us, dtype=np.float64), np.array(self.watts)
        energy = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(knots))])
        places = np.maximum(np.searchsorted(knots, edges_us, side="right") - 1, 0)
        made: NDArray[np.float64] = np.diff(energy[places] + watts[places] * (edges_us - knots[places]))
        made /= np.diff(edges_us)
        return made

    def with_markers(self, starts_us: Sequence[int]) -> "Load":
        """The load with the marker pattern (happe_power/marker.py) from each of these times on."""
        table = table_a2()
        busy, idle = table.at(table.khz[-1], 1.0), table.at(table.khz[0], 0.0)
        steps = dict(zip(self.from_us, self.watts, strict=True))
        for start in starts_us:
            end = start + marker.DURATION_US
            after = float(self.at(np.array([float(end)]))[0])
            steps = {at: watts for at, watts in steps.items() if not start <= at <= end}
            steps |= {at: busy if on else idle for at, on in marker.pattern(start)}
            steps[end] = after
        return _load(steps.items())


def _load(steps: Iterable[tuple[int, float]]) -> Load:
    ordered = sorted(steps)
    return Load(tuple(at for at, _ in ordered), tuple(watts for _, watts in ordered))


def constant(khz: int, utilisation: float) -> Load:
    """A load that never changes."""
    return Load((0,), (table_a2().at(khz, utilisation),))


def load_of(path: Path) -> Load:
    """Read a run record (JSON) or a script (CSV). Raises SourceError, which says which line or field is wrong."""
    try:
        raw = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None
    if raw is None:
        raise SourceError(f"{path}: longer than 8 MiB: neither a run record nor a script of loads")
    return script(raw, path.name) if path.suffix.lower() == ".csv" else run_record(raw, path.name)


def run_record(raw: bytes, name: str) -> Load:
    """The load of a run. Each observation covers the period that it ends (docs/traces.md). Raises SourceError."""
    try:
        record = schemas.read(schemas.Kind.RUN_RECORD, raw)
    except BadDocumentError as error:
        raise SourceError(f"{name} is no run record: {error}"[:400]) from None
    steps: dict[int, float] = {}
    begin = record["started_us"]
    for number, observation in enumerate(record["observations"]):
        if observation["policies"]:  # without a policy, the load goes on unchanged
            steps[begin - record["started_us"]] = _watts(observation, f"{name}: observations[{number}]")
        begin = observation["t_us"]
    if not steps:
        raise SourceError(f"{name} has no observation with a policy: there is no load to follow")
    return _load((steps | {0: steps[min(steps)]}).items())


def _watts(observation: dict[str, Any], where: str) -> float:
    """The watts for CPU 0's policy and utilisation, as in the table. Raises SourceError."""
    policy = min(observation["policies"], key=lambda one: int(one["id"]))
    if "cur_khz" not in policy:
        raise SourceError(f"{where} has no cur_khz: the frequency that the laptop ran at; happed writes it")
    return table_a2().at(policy["cur_khz"], policy["util_ppm"][0] * ONE_PPM)


def script(raw: bytes, name: str) -> Load:
    """Read lines of seconds,khz,utilisation (0 to 1) below a line with these names. Seconds ascend from 0."""
    head, _, lines = raw.partition(b"\n")
    if [word.strip() for word in head.decode("utf-8", "replace").split(",")] != SCRIPT_HEAD:
        raise SourceError(f"{name}:1: a script of loads begins with the line {','.join(SCRIPT_HEAD)}")
    found = tables(lines, Shape(len(SCRIPT_HEAD), (0, 1, 2)))
    if bad := next((each for each in found if isinstance(each, Bad)), None):
        example = "is not seconds,khz,utilisation, e.g. 60,2200000,0.35"
        raise SourceError(f"{name}:{bad.place + 2}: {bad.said!r} {example}")
    steps: list[tuple[int, float]] = []
    rows = zip(*(column.tolist() for each in found if not isinstance(each, Bad) for column in each), strict=True)
    for number, (seconds, khz, utilisation) in enumerate(rows, start=2):
        if not (0 <= seconds <= MOST_SECONDS and 0 < khz < MOST_KHZ and 0 <= utilisation <= 1):
            raise SourceError(f"{name}:{number}: seconds must be 0 or more, kHz above 0, utilisation from 0 to 1")
        at = round(seconds * MICROS)
        if at <= steps[-1][0] if steps else at != 0:
            raise SourceError(f"{name}:{number}: seconds must begin with 0 and ascend")
        steps.append((at, table_a2().at(round(khz), utilisation)))
    if not steps:
        raise SourceError(f"{name} has no line after the first: there is no load to follow")
    return _load(steps)
