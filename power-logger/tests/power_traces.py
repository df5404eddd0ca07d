# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes traces in a spool without an instrument, like those of a recorder."""

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import given_sources
from happe_contract.parts import Footer
from happe_contract.traces import Channel, Filter, Measures, TimePair
from happe_power.recording import closing, parts
from happe_power.recording.header import FOLDERS, Purpose, boot_clock, compact, header_of
from happe_power.trace import Trace
from happe_power.upload import clocks

INT16 = np.dtype(np.int16)
SHUNT = Channel("shunt", Measures.SHUNT, "V", INT16, 10 / 32768 / 20, 0.0)
SUPPLY = Channel("supply", Measures.SUPPLY, "V", INT16, 10 / 32768, 0.0)
CHANNELS = (SHUNT, SUPPLY)
CALIBRATION = {
    "name": "bench 1",
    "sha256": "ab" * 32,
    "date": "2026-01-01",
    "expires": "2099-01-01",
    "shunt_ohm": {"value": 0.1, "standard_uncertainty": 0.0001, "source": "four wires"},
    "divider": {"value": 3.0, "standard_uncertainty": 0.003, "source": "multimeter"},
}
STUDY, METER, MEASURED = "paper-a3", "M3TERAAA", "1APT0PAA"
REALTIME_US = 1_793_440_000_000_000


class Given(Trace):
    """A trace that a test extends."""

    def add(self, number: int, *, rows: int | None = None) -> bytes:
        """Write a complete part with this number and a laptop's power. Return its bytes."""
        rows = rows or self.part_rows
        first = number * self.part_rows
        columns = power(first, rows, self.rate_hz)
        pair = TimePair(first, *(start + number * 1_000_000 for start in (self.started.monotonic_us, REALTIME_US)))
        footer = Footer(self.id, number, ((first, rows),), (pair,))
        encoded = parts.encode(self.channels, columns, footer)
        closing.write_part(self, footer, encoded)
        return bytes(encoded)

    def compare_clocks(self, server_us: int, jump_us: int = 0) -> None:
        """Write two clock estimates good to 2 ms: it began at `server_us`. `jump_us` is the error of the second."""
        clock, began = json.loads((self.folder / "header.json").read_bytes())["clock"], self.started.monotonic_us
        estimates = [
            {"clock": clock, "monotonic_us": began + at, "offset_us": server_us - began + off, "uncertainty_us": 2000}
            for at, off in ((-1_000_000, 0), (10_000_000, jump_us))
        ]
        (self.folder / "clocks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in estimates))

    def end(self) -> dict[str, Any]:
        """Write the manifest, and return it."""
        closing.end(self)
        manifest: dict[str, Any] = json.loads(self.manifest_file.read_bytes())
        return manifest


def begin(  # noqa: PLR0913 - each has a default
    spool: Path,
    *,
    age_s: int = 0,
    rate_hz: float = 1000.0,
    calibration: dict[str, Any] | None = CALIBRATION,
    clock: str | None = None,
    codes: tuple[str, str] = (METER, MEASURED),
    study: str = STUDY,
) -> Given:
    """Make a trace with a header and no part, which began `age_s` before others."""
    name = str(uuid.uuid4())
    mean = Filter("a test", mean_s=1 / rate_hz, ripple=0.0)
    source = given_sources.Given([], rate_hz, tuple(replace(each, filter=mean) for each in CHANNELS))
    started = TimePair(0, clocks.now_us() - 10_000_000, REALTIME_US - age_s * 1_000_000)
    purpose = Purpose(study, *codes, calibration, part_seconds=1)
    header = header_of(source, purpose, name, started, clock or boot_clock())
    made = Given(spool / study / name, header)
    for folder in FOLDERS:
        (made.folder / folder).mkdir(parents=True)
    (made.folder / "header.json").write_bytes(compact(header))
    return made


def ended(spool: Path, count: int, **options: Any) -> Given:  # noqa: ANN401 - those of begin
    """Make a trace with `count` parts that has ended."""
    given = begin(spool, **options)
    for number in range(count):
        given.add(number)
    given.end()
    return given


def power(first: int, rows: int, rate_hz: float) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return raw values: 1.5 A and 2.0 A in turns of a second over 0.1 ohm with some noise, and a third of 19.5 V."""
    index = np.arange(first, first + rows)
    noise = np.random.default_rng(first).normal(0, 3, rows)
    ampere = np.where(index // int(rate_hz) % 2, 2.0, 1.5)
    shunt = ampere * 0.1 / SHUNT.scale + noise
    return shunt.astype(np.int16), np.full(rows, 19.5 / 3 / SUPPLY.scale).astype(np.int16)
