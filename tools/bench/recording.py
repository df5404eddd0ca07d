# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures recording's CPU time and memory, beside a loop that only writes the same parts.

Rounds of both alternate, each in its own process on one CPU. The CPU time is the least of the rounds, because other
work on the machine only adds to it. The source is in memory, so that an instrument's cost does not count.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from given_sources import Given, pair_at
from happe_cli.disk import sync_folder
from happe_contract.traces import Block
from happe_power.recording.header import Purpose
from happe_power.recording.recorder import Recorder
from happe_power.recording.tending import Tended
from happe_power.sources.source import EndedError, Reading

ROUNDS, PART_SECONDS = 3, 10
RUN, DAY = (100_000, 600), (1000, 86_400)  # samples a second, and seconds
CASES = {"record": RUN, "bare": RUN, "record-day": DAY, "bare-day": DAY}


def blocks(rate: int, seconds: int) -> Iterator[Block]:
    """Yield the same part again and again in blocks of 0.1 s: a shunt that steps each second, and a supply, noisy."""
    rows = rate * PART_SECONDS
    rng = np.random.default_rng(1)
    load = np.where(np.arange(rows) // rate % 2, 3000, 2000)
    shunt = (load + rng.normal(0, 40, rows)).astype(np.int16)
    supply = (20_000 + rng.normal(0, 30, rows)).astype(np.int16)
    for first in range(0, rate * seconds, rate // 10):
        at = first % rows
        yield Block(first, tuple(column[at : at + rate // 10] for column in (shunt, supply)))


def record(folder: Path, rate: int, seconds: int) -> None:
    """Record to the end."""

    def readings() -> Iterator[Reading | Exception]:
        for block in blocks(rate, seconds):
            yield Reading((block,), pair_at(block.end_index, rate))
        yield EndedError("all is given")

    source = Given(readings(), rate_hz=float(rate))
    recorder = Recorder(Tended(source), folder / "bench", Purpose("bench", part_seconds=PART_SECONDS))
    recorder.start()
    recorder.wait()
    if recorder.errors or recorder.failed or recorder.lost or recorder.rows != rate * seconds:
        raise SystemExit(f"not all was recorded: {recorder.errors} {recorder.failed} {recorder.lost} lost")


def bare(folder: Path, rate: int, seconds: int) -> None:
    """Concatenate the blocks of each part, encode its columns as recording does, sync the file and its folder."""
    taken: list[Block] = []
    names = ("shunt", "supply")
    for number, block in enumerate(blocks(rate, seconds), start=1):
        taken.append(block)
        if number % (10 * PART_SECONDS) == 0:
            columns = [pa.array(np.concatenate(each)) for each in zip(*(b.columns for b in taken), strict=True)]
            with (folder / f"{number:06}.parquet").open("wb") as file:
                pq.write_table(
                    pa.table(columns, names=names),
                    file,
                    compression="zstd",
                    compression_level=3,
                    use_dictionary=False,
                    column_encoding=dict.fromkeys(names, "DELTA_BINARY_PACKED"),
                    write_statistics=False,
                    store_schema=False,
                )
                file.flush()
                os.fsync(file.fileno())
            sync_folder(folder)
            taken = []


def run(case: str, folder: Path) -> dict[str, float]:
    """Return the seconds of CPU, and the peak of resident memory in KiB."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    began = time.process_time()
    (bare if case.startswith("bare") else record)(folder, *CASES[case])
    took = time.process_time() - began
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return {"cpu": took, "peak": int(status.split("VmHWM:")[1].split()[0])}


def alone(case: str) -> dict[str, float]:
    """Run a case in its own process, in a temporary folder of the working directory."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as folder:
        done = subprocess.run([sys.executable, __file__, case, folder], stdout=subprocess.PIPE, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print the figures."""
    pairs = [(alone("record"), alone("bare")) for _ in range(ROUNDS)]
    ours, bares = (min(each["cpu"] for each in kind) for kind in zip(*pairs, strict=True))
    own, other = (alone(case)["peak"] / 1024 for case in ("record-day", "bare-day"))
    print(f"recording 10 min of 2 x 100 kS/s: CPU {ours:.2f} s, a bare loop {bares:.2f} s: {ours / bares:.2f}")
    print(f"  memory over a day of 2 x 1 kS/s {own:.0f} MiB, the bare loop {other:.0f} MiB: {own / other:.2f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
    else:
        main()
