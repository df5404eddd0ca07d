# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the footer of a power trace's part (docs/uploads.md, A part), which another program wrote."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from happe_contract.traces import TimePair

KEY = "happe"  # the key of the JSON in the file's metadata
ROOM_ONCE, ROOM_SECOND, ROOM_PAGE = 4096, 64, 4096  # bytes: for the runs, for each second's pair, the page size
LATEST = 2**53  # an index or a time below this is exact in every reader of JSON

Run = tuple[int, int]  # first index, rows


class BadPartError(Exception):
    """A file is not the expected part; the message says why, without the file's name."""


@dataclass(frozen=True)
class Footer:
    """A part's description of itself: its runs without a gap, by index, and at least one pair of index and time."""

    trace: str
    number: int
    runs: tuple[Run, ...]
    time_base: tuple[TimePair, ...]

    @property
    def first_index(self) -> int:
        """The index of the first row."""
        return self.runs[0][0]

    @property
    def end_index(self) -> int:
        """One past the index of the last row."""
        return sum(self.runs[-1])

    @property
    def rows(self) -> int:
        """The rows of all runs."""
        return sum(rows for _, rows in self.runs)

    def to_json(self) -> dict[str, Any]:
        """The footer as in the file's metadata."""
        pairs = [[pair.index, pair.monotonic_us, pair.realtime_us] for pair in self.time_base]
        return {"trace": self.trace, "number": self.number, "runs": self.runs, "time_base": pairs}


def room(rate_hz: float, part_seconds: int, row_bytes: int) -> int:
    """The bytes of a part of nominal length, padded so that they do not depend on its samples.

    The size of compressed samples would reveal how restless the power was. An eighth more than the samples themselves
    holds the worst case of the encodings (docs/uploads.md, A part).
    """
    samples = max(1, round(rate_hz * part_seconds)) * row_bytes
    wanted = samples + samples // 8 + ROOM_ONCE + ROOM_SECOND * part_seconds
    return -(-wanted // ROOM_PAGE) * ROOM_PAGE


def read_footer(path: Path) -> Footer:
    """Read the footer of a part's file, and check that its rows match its runs. Raises BadPartError, OSError."""
    with path.open("rb") as file:
        return footer_in(file)


def footer_in(file: Any) -> Footer:  # noqa: ANN401 - a file of Python's or of Arrow's
    """Read the footer of a part from an open file. Raises BadPartError, OSError."""
    try:
        metadata = pq.read_metadata(file)
        said = json.loads((metadata.metadata or {})[KEY.encode()])
    except (pa.ArrowException, ValueError, RecursionError) as error:
        raise BadPartError(f"it is no Parquet file: {first_line(error)}") from None
    except KeyError:
        raise BadPartError(f"its metadata lacks the key {KEY}") from None
    found = footer_of(said)
    if metadata.num_rows != found.rows:
        raise BadPartError(f"it has {metadata.num_rows} rows; its runs say {found.rows}")
    return found


def footer_of(said: Mapping[str, Any]) -> Footer:
    """Check a footer's JSON, and return the footer. Raises BadPartError."""
    try:
        found = Footer(
            trace=said["trace"],
            number=said["number"],
            runs=tuple((int(first), int(rows)) for first, rows in said["runs"]),
            time_base=tuple(TimePair(*map(int, pair)) for pair in said["time_base"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadPartError(f"its {KEY} metadata can't be used: {error!r}") from None
    ascending = all(first + rows <= following for (first, rows), (following, _) in pairwise(found.runs))
    if not found.runs or not found.time_base or not ascending or any(rows < 1 for _, rows in found.runs):
        raise BadPartError("it has no runs or pairs, or they do not ascend")
    times = [n for pair in found.time_base for n in (pair.index, pair.monotonic_us)]
    if found.first_index < 0 or found.end_index > LATEST or not all(0 <= n < LATEST for n in times):
        raise BadPartError("an index or a time is out of range")
    return found


def first_line(error: Exception) -> str:
    """The first line of an error of Arrow, which may have pages."""
    return (str(error).splitlines() or [type(error).__name__])[0]
