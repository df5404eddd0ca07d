# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a trace's folder on the measuring host, also during its recording. docs/power-logger.md, Files.

During a recording, it shows everything up to the last closed part.
"""

import json
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from happe_contract import schemas
from happe_contract.calibration import Calibration, from_header
from happe_contract.faults import BadDocumentError
from happe_contract.measuring.session import TraceError
from happe_contract.parts import BadPartError, Footer, read_footer, room
from happe_contract.rig import channels_of
from happe_contract.strict_json import Json
from happe_contract.time_base import TimeBase, is_nominal, time_base
from happe_contract.traces import Block, Channel, ClockEstimate, Gap, Reason, TimePair
from happe_power.recording import parts

__all__ = ["Trace", "TraceError"]


class Trace:
    """A trace's folder. It reads most attributes at their first use, and then keeps them."""

    def __init__(self, folder: Path, header: Json) -> None:
        """Use `open`."""
        self.folder = folder
        self.header = header

    @classmethod
    def open(cls, folder: Path) -> Self:
        """A trace by its folder, SPOOL/STUDY/UUID. Raises TraceError."""
        path = folder / "header.json"
        try:
            return cls(folder, schemas.read(schemas.Kind.POWER_TRACE, path.read_bytes()))
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}: this is not the folder of a trace") from None
        except BadDocumentError as error:
            raise TraceError(f"{path}: {error}") from None

    @property
    def id(self) -> str:
        """The trace's UUID."""
        return str(self.header["id"])

    @property
    def rate_hz(self) -> float:
        """The nominal rate."""
        return float(self.header["rate_hz"])

    @cached_property
    def calibration(self) -> Calibration | None:
        """The calibration in force; None: there was none."""
        return from_header(self.header["calibration"])

    @property
    def started(self) -> TimePair:
        """The first sample's index and time."""
        return TimePair(**self.header["started"])

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The channel of each column. The header has no ends of ranges, so `lowest` and `highest` are None."""
        return channels_of(self.header)

    @property
    def numbers(self) -> list[int]:
        """The numbers of the parts in the folder, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("parts/[0-9]*.parquet"))

    def part(self, number: int) -> Path:
        """The file of a part."""
        return self.folder / "parts" / f"{number:06}.parquet"

    def raw(self, number: int) -> Path:
        """The raw file of a part that is not closed."""
        return self.folder / "open" / f"{number:06}.raw"

    @property
    def lock(self) -> Path:
        """The file that a running recorder keeps locked."""
        return self.folder / "open" / "lock"

    @property
    def gaps_file(self) -> Path:
        """The file of gaps."""
        return self.folder / "gaps.jsonl"

    @property
    def manifest_file(self) -> Path:
        """The manifest, which the recorder writes last."""
        return self.folder / "manifest.json"

    @property
    def part_rows(self) -> int:
        """Indices of a part, by the nominal rate."""
        return max(1, round(self.rate_hz * int(self.header["part_seconds"])))

    @property
    def part_room(self) -> int:
        """A part's file is padded to a multiple of these bytes."""
        return room(self.rate_hz, self.header["part_seconds"], sum(each.dtype.itemsize for each in self.channels))

    @cached_property
    def footers(self) -> list[Footer]:
        """The footers of the parts in the folder, by number. Raises TraceError."""
        return [self._footer(number) for number in self.numbers]

    @cached_property
    def manifest(self) -> Json | None:
        """The manifest; None: the recording has not ended. Raises TraceError."""
        path = self.manifest_file
        try:
            return schemas.read(schemas.Kind.POWER_TRACE_MANIFEST, path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, BadDocumentError) as error:
            raise TraceError(f"{path}: {error}") from None

    @property
    def sealed(self) -> bool:
        """Whether the server has confirmed that it has the whole trace."""
        return (self.folder / "seal.json").exists()

    @cached_property
    def time_base(self) -> list[TimePair]:
        """All pairs of index and time, by index: the header's, the parts', and the last. Raises TraceError."""
        pairs = [self.started, *(pair for footer in self.footers for pair in footer.time_base)]
        if self.manifest:
            pairs += [*(TimePair(**each) for each in (*self.manifest["time_base"], self.manifest["ended"]))]
        return sorted(set(pairs), key=lambda pair: (pair.index, pair.monotonic_us))

    @cached_property
    def nominal(self) -> bool:
        """Whether the trace is from a file whose times were computed from its rate. Raises TraceError."""
        return self.header["source"]["kind"] == "file" and is_nominal(self.time_base, self.rate_hz)

    @cached_property
    def times(self) -> TimeBase:
        """The conversion between indices and the host's monotonic clock. Raises TraceError."""
        return time_base(self.time_base, self.gaps, self.rate_hz, nominal=self.nominal)

    def seconds(self, index: NDArray[Any]) -> NDArray[np.float64]:
        """Seconds since the first sample at indices, by the host's clock. Raises TraceError."""
        return (self.times.after_us(index) - self.times.after_us(np.array(self.started.index))) / 1e6

    @cached_property
    def gaps(self) -> list[Gap]:
        """The gaps, by index, up to `end_index`. Raises TraceError."""
        return read_gaps(self.gaps_file)

    @property
    def end_index(self) -> int:
        """One past the last index that is a row of a closed part or in a gap."""
        if self.manifest:
            return int(self.manifest["end_index"])
        ends = [self.started.index, *(footer.end_index for footer in self.footers[-1:])]
        return max(*ends, *(gap.to_index for gap in self.gaps[-1:])) if self.gaps else max(ends)

    @cached_property
    def clocks(self) -> list[ClockEstimate]:
        """The estimates of the trace's clock against the server's, by time.

        Skips a torn last line, and estimates after a reboot, which are of another clock.
        """
        lines = [each for each in _json_lines(self.folder / "clocks.jsonl") if each["clock"] == self.header["clock"]]
        found = [ClockEstimate(each["monotonic_us"], each["offset_us"], each["uncertainty_us"]) for each in lines]
        return sorted(found, key=lambda each: each.monotonic_us)

    def blocks(self, from_index: int | None = None, to_index: int | None = None) -> Iterator[Block]:
        """The samples from `from_index` up to and without `to_index`, in blocks without a gap, by index.

        Holds one part in memory at a time. Raises TraceError, also if a part of the manifest is not in the folder.
        """
        first = self.started.index if from_index is None else from_index
        end = self.end_index if to_index is None else to_index
        self._require_parts(first, end)
        for footer in self.footers:
            if footer.first_index < end and footer.end_index > first:
                yield from self._cut(footer, first, end)

    def _footer(self, number: int) -> Footer:
        try:
            return read_footer(self.part(number))
        except BadPartError as error:
            raise TraceError(f"{self.part(number)}: {error}") from None

    def _require_parts(self, first: int, end: int) -> None:
        here = set(self.numbers)
        for part in self.manifest["parts"] if self.manifest else ():
            wanted = part["first_index"] < end and part["first_index"] + part["samples"] > first
            if wanted and part["number"] not in here:
                kept = "was deleted after the seal: the server has it" if self.sealed else "is not here"
                raise TraceError(f"{self.part(part['number'])}: {kept}")

    def _cut(self, footer: Footer, first: int, end: int) -> Iterator[Block]:
        try:
            columns = parts.checked_columns(self.part(footer.number), self.channels, footer)
        except BadPartError as error:
            raise TraceError(f"{self.part(footer.number)}: {error}") from None
        row = 0
        for start, rows in footer.runs:
            low, high = max(first - start, 0), min(end - start, rows)
            if low < high:
                yield Block(start + low, tuple(column[row + low : row + high] for column in columns))
            row += rows


def read_gaps(path: Path) -> list[Gap]:
    """The gaps in a trace's gaps.jsonl, none if there is no such file. Raises TraceError."""
    try:
        return [Gap(each["from_index"], each["to_index"], Reason(each["reason"])) for each in _json_lines(path)]
    except (KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: a line is no gap: {error!r}") from None


def read_digests(folder: Path) -> dict[int, Json]:
    """The size ("bytes") and "sha256" that each part had when it was closed, by number. Raises TraceError."""
    path = folder / "digests.jsonl"
    try:
        return {each["part"]: {name: each[name] for name in ("bytes", "sha256")} for each in _json_lines(path)}
    except (KeyError, TypeError) as error:
        raise TraceError(f"{path}: a line is no digest: {error!r}") from None


def _json_lines(path: Path) -> list[dict[str, Any]]:
    """The documents of a JSON Lines file. Skips a last line without its end, which was never finished."""
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except FileNotFoundError:
        return []
    found = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            found.append(json.loads(line))
        except ValueError:
            raise TraceError(f"{path}:{number}: is not JSON") from None
    return found
