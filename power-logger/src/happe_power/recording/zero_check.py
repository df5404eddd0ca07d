# SPDX-License-Identifier: GPL-2.0-or-later
"""Zero checks before and after a recording. A person makes the readings, which lie beside the trace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from happe_contract.measuring.zeros import HAVE_A_ZERO, read_zero, shown
from happe_contract.traces import Block
from happe_power.recording.files import write_whole
from happe_power.recording.guard import usable
from happe_power.recording.layout import compact

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from happe_contract.measuring.zeros import ZeroReading
    from happe_contract.traces import Channel
    from happe_power.sources.source import Source

NAME = "zeros.json"
SECONDS = 2.0


def has_zero(source: Source) -> bool:
    """Whether a channel of the source has a zero to check."""
    return any(channel.measures in HAVE_A_ZERO for channel in source.channels)


def take(source: Source, seconds: float = SECONDS) -> list[ZeroReading]:
    """Read the zero of each channel that has one, for some seconds.

    Raises SourceError; ValueError if no sample came, or if some can't be used.
    """
    channels = [(column, each) for column, each in enumerate(source.channels) if each.measures in HAVE_A_ZERO]
    wanted, deadline = seconds * source.rate_hz, time.monotonic() + 2 * seconds + 1
    blocks: list[Block] = []
    at_us = source.start(0).monotonic_us
    try:
        while sum(block.rows for block in blocks) < wanted and time.monotonic() < deadline:
            blocks += [_part(item, channels) for item in source.read(seconds).items if isinstance(item, Block)]
    finally:
        source.stop()
    return [read_zero(channel, column, blocks, at_us) for column, (_, channel) in enumerate(channels)]


def _part(block: Block, channels: Sequence[tuple[int, Channel]]) -> Block:
    """Pick the columns of these channels from a block. Raises UnusableError if a sample can't be used."""
    part = Block(block.first_index, tuple(block.columns[column] for column, _ in channels))
    return usable(part, [channel for _, channel in channels])


def store(
    folder: Path, before: list[ZeroReading], after: list[ZeroReading], during: Sequence[ZeroReading] = ()
) -> None:
    """Put the readings beside a trace, as zeros.json. Raises OSError."""
    readings = {"before": shown(before), "during": shown(during), "after": shown(after)}
    write_whole(folder / NAME, compact(readings))
