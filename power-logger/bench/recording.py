# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure recording and memory. A bare numpy-to-pyarrow loop on one CPU writes the same parts for comparison.

Rounds of both alternate, each in its own process. The CPU time is the least of the rounds, because other work on the
machine only adds to it (caches, memory). The speed is a median. The source is in memory, so that an instrument's cost
does not count. The bare loop concatenates the same blocks, encodes the same columns in the same way, syncs and renames
each file and syncs its folder. It has no raw file, guard, digest or threads.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from happe_power.recording.arrow_files import as_array

from given_sources import SHUNT, SUPPLY, Given, pair_at
from happe_cli.disk import sync_folder
from happe_contract.traces import Block
from happe_power.recording.header import Purpose
from happe_power.recording.recorder import Recorder
from happe_power.recording.tending import Tended
from happe_power.sources.source import EndedError, Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

RATE, SECONDS, PART_SECONDS, BLOCK_S = 100_000, 600, 10, 0.1
DAY_S, DAY_RATE = 86_400, 1000
LEAST_SPEED, MOST_SIZE, MOST_CPU = 20.0, 1.05, 2.0
MOST_MIB, MOST_SLOPE_MIB = 150.0, 5.0
KIB, BLOCK = 1024, 512  # BLOCK: the unit of st_blocks


def given_columns(rate: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return a part's rows: a shunt that steps between two loads each second, and a supply, with noise, in 16 bits."""
    rows = rate * PART_SECONDS
    rng = np.random.default_rng(1)
    load = np.where(np.arange(rows) // rate % 2, 3000, 2000)
    shunt = (load + rng.normal(0, 40, rows)).astype(np.int16)
    return shunt, (20_000 + rng.normal(0, 30, rows)).astype(np.int16)


def blocks(rate: int, seconds: int) -> Iterator[Block]:
    """Yield the same part again and again, in blocks of a tenth of a second."""
    columns = given_columns(rate)
    rows, length = round(rate * BLOCK_S), rate * PART_SECONDS
    for first in range(0, rate * seconds, rows):
        at = first % length
        yield Block(first, tuple(column[at : at + rows] for column in columns))


def record(folder: Path, rate: int, seconds: int, watch: Callable[[int], object] = lambda _: None) -> Path:
    """Record to the end. Return the trace's folder. `watch` gets each index."""

    def readings() -> Iterator[Reading | Exception]:
        for block in blocks(rate, seconds):
            watch(block.end_index)
            yield Reading((block,), pair_at(block.end_index, rate))
        yield EndedError("all is given")

    source = Given(readings(), rate_hz=float(rate))
    recorder = Recorder(Tended(source), folder / "bench", Purpose("bench", part_seconds=PART_SECONDS))
    recorder.start()
    recorder.wait()
    if recorder.errors or recorder.failed or recorder.lost or recorder.rows != rate * seconds:
        raise SystemExit(f"not all was recorded: {recorder.errors} {recorder.failed} {recorder.lost} lost")
    return recorder.folders[0]


def bare(folder: Path) -> None:
    """Run the bare loop for comparison."""
    names = (SHUNT.name, SUPPLY.name)
    schema = pa.schema([pa.field(name, pa.int16(), nullable=False) for name in names])
    taken: list[Block] = []
    for number, block in enumerate(blocks(RATE, SECONDS), start=1):
        taken.append(block)
        if number % (PART_SECONDS / BLOCK_S) == 0:
            columns = [np.concatenate(column) for column in zip(*(each.columns for each in taken), strict=True)]
            write_bare(
                folder / f"{number:06}.parquet", pa.Table.from_arrays(list(map(as_array, columns)), schema=schema)
            )
            taken = []


def write_bare(path: Path, table: Any) -> None:  # noqa: ANN401 - pyarrow has no types
    """Write a part's columns to a file, and sync it."""
    with path.with_suffix(".tmp").open("wb") as file:
        pq.write_table(
            table,
            file,
            compression="zstd",
            compression_level=3,
            use_dictionary=False,
            column_encoding=dict.fromkeys(table.column_names, "DELTA_BINARY_PACKED"),
            write_statistics=False,
            store_schema=False,
        )
        file.flush()
        os.fsync(file.fileno())
    path.with_suffix(".tmp").rename(path)
    sync_folder(path.parent)


def measured(folder: Path, work: Callable[[], object]) -> dict[str, float]:
    """Return the seconds by the clock, the seconds of CPU, and the bytes on the disk."""
    began, cpu = time.perf_counter(), time.process_time()
    work()
    took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
    return took | {"bytes": sum(path.stat().st_blocks * BLOCK for path in folder.rglob("*") if path.is_file())}


def status_kib(name: str) -> int:
    """Return a figure of this process's memory: VmHWM or VmRSS."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


def day(folder: Path) -> dict[str, float]:
    """Record a simulated day at 2 x 1 kHz. Return the peak memory, and its growth from the first quarter to the end."""
    points: list[tuple[float, int]] = []

    def watch(index: int) -> None:
        if index % (DAY_RATE * DAY_S // 48) == 0:
            points.append((index / DAY_RATE / DAY_S, status_kib("VmRSS")))

    began = time.perf_counter()
    record(folder, DAY_RATE, DAY_S, watch)
    late = [point for point in points if point[0] > 1 / 4]
    slope = statistics.linear_regression(*zip(*late, strict=True)).slope
    return {"peak_mib": status_kib("VmHWM") / KIB, "slope_mib": slope / KIB, "wall_s": time.perf_counter() - began}


CASES: dict[str, Callable[[Path], dict[str, float]]] = {
    "record": lambda folder: measured(folder, lambda: record(folder, RATE, SECONDS)),
    "bare": lambda folder: measured(folder, lambda: bare(folder)),
    "day": day,
}


def alone(case: str) -> dict[str, float]:
    """Run a case in its own process, in a temporary folder. A day's folder is in memory, not on the disk."""
    folder = tempfile.mkdtemp(prefix=".bench-", dir="/dev/shm" if case == "day" else Path.cwd())  # noqa: S108 - it is
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--case", case, "--folder", folder],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        shutil.rmtree(folder)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def figures_of(rounds: int) -> dict[str, float]:
    """Run all cases. Return their figures."""
    pairs = [(alone("record"), alone("bare")) for _ in range(rounds)]
    recorded_s, bare_s = (min(each["cpu_s"] for each in kind) for kind in zip(*pairs, strict=True))
    days = alone("day")
    return {
        "speed": statistics.median(SECONDS / recorded["wall_s"] for recorded, _ in pairs),
        "cpu_ratio": recorded_s / bare_s,
        "record_cpu_s": recorded_s,
        "bare_cpu_s": bare_s,
        "size_ratio": pairs[0][0]["bytes"] / pairs[0][1]["bytes"],
        **{f"day_{name}": value for name, value in days.items()},
    }


def misses(of: dict[str, float]) -> list[str]:
    """Return the missed goals."""
    aims = {
        f"{LEAST_SPEED:.0f} times real time": of["speed"] >= LEAST_SPEED,
        f"{MOST_CPU} of the bare loop's CPU": of["cpu_ratio"] <= MOST_CPU,
        f"{MOST_SIZE} of the bare size": of["size_ratio"] <= MOST_SIZE,
        f"{MOST_MIB:.0f} MiB over a day": of["day_peak_mib"] <= MOST_MIB,
        "flat over a day": of["day_slope_mib"] <= MOST_SLOPE_MIB,
    }
    return [aim for aim, met in aims.items() if not met]


def show(of: dict[str, float]) -> None:
    """Print figures for people."""
    print(f"recording 10 min of 2 x {RATE // 1000} kS/s on one CPU: {of['speed']:.0f} times real time")
    print(f"  CPU {of['record_cpu_s']:.2f} s; a bare loop {of['bare_cpu_s']:.2f} s; ratio {of['cpu_ratio']:.2f}")
    print(f"  size with all that is beside the samples: {of['size_ratio']:.3f} of the bare loop's")
    peak, slope = of["day_peak_mib"], of["day_slope_mib"]
    print(f"  a day of 2 x 1 kS/s in {of['day_wall_s']:.0f} s: at most {peak:.0f} MiB, {slope:+.1f} MiB a day")


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Return the exit status."""
    parser = argparse.ArgumentParser(description="Measure recording beside a bare loop.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if an aim is missed")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.case:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(CASES[given.case](given.folder)))
        return 0
    found = figures_of(given.rounds)
    missed = misses(found)
    if given.json:
        print(json.dumps(found | {"missed": missed}, indent=2))
    else:
        show(found)
        print("".join(f"  missed: {aim}\n" for aim in missed), end="")
    return 1 if given.judge and missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
