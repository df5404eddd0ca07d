# SPDX-License-Identifier: GPL-2.0-or-later
"""Summaries of parts: watts in bins of 10 ms, computed once and stored beside the part.

A summary only saves time. The server computes it again if it is missing or damaged, or if part or calibration changed.
Unlike parts, summaries are not sealed. So the server makes none before unblinding, when nobody may see power.
"""

from __future__ import annotations

import json
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from happe_contract.parts import BadPartError, footer_of
from happe_study.evidence.traces.part_files import footer_of_part, opened, samples

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from happe_contract.parts import Footer
    from happe_study.evidence.traces.sealed_parts import Seal
    from happe_study.evidence.traces.storage import Part, Storage
    from happe_study.evidence.traces.watts import Meter

BINS_A_SECOND = 100
FORMAT = "happe-part-watts/1"
FIELDS = 5


@dataclass(frozen=True)
class Bins:
    """Samples in bins, ascending: each bin's first index, and the lowest, highest, sum and number of its samples."""

    first: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    total: NDArray[np.float64]
    count: NDArray[np.float64]

    def __len__(self) -> int:
        """The number of bins."""
        return len(self.first)


@dataclass(frozen=True)
class Source:
    """A part to read: its store, its seal, and the digest of its trace's header, which has the calibration."""

    storage: Storage
    part: Part
    seal: Seal
    header_sha256: str

    @property
    def number(self) -> int:
        """The part's number."""
        return self.seal.number

    @property
    def opened(self) -> pa.Buffer:
        """The opened part. Raises BadPartError, AwayError."""
        return opened(self.storage, self.part, self.seal)

    @property
    def identity(self) -> dict[str, str]:
        """The format, part and header that a stored summary must name."""
        return {"format": FORMAT, "part": self.part.sha256, "header": self.header_sha256}


def step_of(rate_hz: float) -> int:
    """The number of samples in a summary's bin."""
    return max(1, round(rate_hz / BINS_A_SECOND))


def known(source: Source) -> tuple[Footer, Bins] | None:
    """The stored summary of a part; None if there is no usable one."""
    with suppress(OSError, ValueError, KeyError, TypeError, BadPartError):
        said, _, body = source.storage.summary(source.part).partition(b"\n")
        facts = json.loads(said)
        if facts["of"] == source.identity and facts["crc32"] == zlib.crc32(body):
            return footer_of(facts), Bins(*np.frombuffer(body).reshape(FIELDS, -1))
    return None


def made(source: Source, meter: Meter, *, keep: bool) -> tuple[Footer, Bins]:
    """Compute the summary of a part, and with `keep` try to store it. Raises BadPartError."""
    part = source.opened
    found = footer_of_part(part, source.seal.trace, source.number)
    bins = reckoned(_watts_of(part, source.number, found, meter), step_of(meter.rate_hz))
    if keep:
        with suppress(OSError):  # no room, or the store does not answer: the next request computes it again
            _keep(source, found, bins)
    return found, bins


def watts_of(
    source: Source, found: Footer, meter: Meter, begin: int, end: int
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """First index and watts of each stretch of a part without gaps, from index `begin` to `end` - 1.

    Raises BadPartError.
    """
    return _watts_of(source.opened, source.number, found, meter, begin, end)


def _watts_of(  # noqa: PLR0913, PLR0917 - a stretch of a part
    part: pa.Buffer, number: int, found: Footer, meter: Meter, begin: int = 0, end: int | None = None
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    starts = np.cumsum([0, *(rows for _first, rows in found.runs)])
    for row, columns in samples(part, number, meter.columns):
        size = len(columns[0])
        for (first, rows), start in zip(found.runs, starts.tolist(), strict=False):
            low, high = max(row, start), min(row + size, start + rows)
            if end is not None:
                low, high = max(low, start + begin - first), min(high, start + end - first)
            if low < high:
                yield first + low - start, meter.watts(tuple(each[low - row : high - row] for each in columns))


def reckoned(stretches: Iterator[tuple[int, NDArray[np.float64]]], step: int) -> Bins:
    """Put watts into bins of `step` indices. A bin of two stretches occurs twice. It leaves out NaN and infinity."""
    pieces = [_binned(first, watts, step) for first, watts in stretches]
    whole = np.concatenate(pieces, axis=1) if pieces else np.empty((FIELDS, 0))
    return Bins(*whole)


def _binned(first: int, watts: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    if not np.isfinite(watts[-1]) or not np.isfinite(watts.sum()):
        return _of_the_finite(first, watts, step)
    starts = np.unique(np.concatenate(([0], np.arange(-first % step, len(watts), step))))
    return np.stack(
        (
            (first + starts).astype(np.float64),
            np.minimum.reduceat(watts, starts),
            np.maximum.reduceat(watts, starts),
            np.add.reduceat(watts, starts),
            np.diff(starts, append=len(watts)).astype(np.float64),
        )
    )


def _of_the_finite(first: int, watts: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    edges = np.flatnonzero(np.diff(np.isfinite(watts).astype(np.int8), prepend=0, append=0))
    pieces = [_binned(first + a, watts[a:b], step) for a, b in edges.reshape(-1, 2).tolist()]
    return np.concatenate(pieces, axis=1) if pieces else np.empty((FIELDS, 0))


def _keep(source: Source, found: Footer, bins: Bins) -> None:
    body = np.stack([bins.first, bins.low, bins.high, bins.total, bins.count]).tobytes()
    facts = {"of": source.identity, "crc32": zlib.crc32(body), **found.to_json()}
    source.storage.keep_summary(source.part, json.dumps(facts, separators=(",", ":")).encode() + b"\n" + body)
