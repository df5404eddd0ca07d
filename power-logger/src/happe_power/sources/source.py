# SPDX-License-Identifier: GPL-2.0-or-later
"""What the recorder needs of an instrument. Each kind is one small class; its simulated twin has the same words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from happe_contract.traces import Block, Channel, Gap, TimePair


class SourceError(Exception):
    """The instrument can't be used; the message says why and what to do next."""


class UnpluggedError(SourceError):
    """It went away while it was read. `start` may bring it back."""


class FinalError(SourceError):
    """What it gives is wrong, as a row of a file, and would be again: it is not started again."""


class EndedError(SourceError):
    """It has no more, as a file at its end. `start` would begin it again."""


@dataclass(frozen=True)
class Reading:
    """What has come since the last one: blocks and gaps in the order of their indices, without a hole between them.

    `at` is the time at which the last sample was taken as nearly as known, under the index that comes next: read
    right after the driver handed it over. None: nothing has come.
    """

    items: tuple[Block | Gap, ...]
    at: TimePair | None


class Source(Protocol):
    """An instrument that samples its channels together.

    An index counts what the instrument sampled, at the nominal rate, whether it was kept or not. A source tells the
    gaps that it alone can know (`overflow`, `stall`, `invalid` for short reads); values out of range and NaN are found
    by the recorder, for all sources alike.

    Two more attributes are for those who need them: `notes`, lines of which there may be more after a while, for the
    person who records (`notes_of`); and `patient`, for a source that loses nothing while it is not read, as a file.
    """

    kind: str  # of profiles/schema/power-trace.schema.json, source.kind
    device: str  # the instrument as its driver names it
    serial: str | None
    channels: tuple[Channel, ...]
    rate_hz: float  # what the instrument agreed to, which may not be what was asked for

    def start(self, first_index: int) -> TimePair:
        """Begin to sample; the first sample has this index. Raises SourceError."""

    def read(self, timeout_s: float) -> Reading:
        """Wait for samples, not longer than this. Raises UnpluggedError, EndedError, FinalError, SourceError."""

    def stop(self) -> None:
        """End sampling and leave the instrument as it was found. Does nothing the second time."""
