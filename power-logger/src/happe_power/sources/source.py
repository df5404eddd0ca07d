# SPDX-License-Identifier: GPL-2.0-or-later
"""The interface of an instrument for the recorder. Each kind is one small class; its simulated twin has the same."""

from dataclasses import dataclass
from typing import Protocol

from happe_contract.traces import Block, Channel, Gap, TimePair


class SourceError(Exception):
    """The instrument can't be used; the message says why and what to do next."""


class UnpluggedError(SourceError):
    """The instrument went away during a read. `start` may bring it back."""


class FinalError(SourceError):
    """The data are wrong, like a bad row of a file, and would be so again. The recorder does not restart the source."""


class EndedError(SourceError):
    """The source has no more samples, like a file at its end. `start` would begin it again."""


@dataclass(frozen=True)
class Reading:
    """The blocks and gaps since the last reading, in the order of their indices, without a hole between them.

    `at` is the next index, with the best known time of the last sample: the source reads the clock right after the
    driver has handed the sample over. None: no sample came.
    """

    items: tuple[Block | Gap, ...]
    at: TimePair | None


class Source(Protocol):
    """An instrument that samples its channels together.

    An index counts the instrument's samples at the nominal rate, kept or not. A source reports the gaps that only it
    can know (`overflow`, `stall`, `invalid` for short reads). The recorder itself finds values out of range and NaN,
    for all sources alike. No time is later than the begin of the next index, or goes back; it jumps only over a gap of
    as many indices. `happe_power.source_kit.check_source` checks this.

    Three more attributes are optional: `notes`, lines for the person who records, whose number may grow (`notes_of`);
    `patient`, for a source that loses nothing while nobody reads it, such as a file; and, once it has begun, `clock`,
    the name of the clock of its monotonic times, if that is not this boot's.
    """

    kind: str  # of profiles/schema/power-trace.schema.json, source.kind
    device: str  # the instrument as its driver names it
    serial: str | None
    channels: tuple[Channel, ...]
    rate_hz: float  # the instrument's rate, which may differ from the rate asked for

    def start(self, first_index: int) -> TimePair:
        """Begin to sample; the first sample has this index. Raises SourceError."""

    def read(self, timeout_s: float) -> Reading:
        """Wait at most so long for samples. Raises UnpluggedError, EndedError, FinalError, SourceError."""

    def stop(self) -> None:
        """End the sampling, and restore the instrument. A second call does nothing."""
