# SPDX-License-Identifier: GPL-2.0-or-later
"""Zero checks before and after a recording by a person, and during it by a relay that shorts the inputs.

The readings lie beside the trace. The samples of a relay's check are not the laptop's power. They become a zero
reading, and in the trace a gap `zero`.
"""

import json
import math
import shlex
import subprocess
import time
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from happe_contract.measuring.session import TraceError
from happe_contract.measuring.zeros import HAVE_A_ZERO, ZeroReading, read_zero
from happe_contract.traces import Block, Channel, Gap, Measures, Reason, TimePair
from happe_power.recording.files import write_whole
from happe_power.recording.guard import usable
from happe_power.recording.header import compact
from happe_power.recording.tending import Tended
from happe_power.sources.source import EndedError, Reading, Source

NAME = "zeros.json"
SECONDS = 2.0
READ_S = 1.0
PATIENCE_S = 10.0


def has_zero(source: Source) -> bool:
    """Whether a channel of the source has a zero to check."""
    return any(channel.measures in HAVE_A_ZERO for channel in source.channels)


def take(source: Source, seconds: float = SECONDS, kinds: Container[Measures] = HAVE_A_ZERO) -> list[ZeroReading]:
    """Read the channels that measure one of `kinds` for some seconds, or to the end of a file.

    Raises SourceError; ValueError if fewer than two samples came, or if some can't be used.
    """
    blocks: list[Block] = []
    at_us = source.start(0).monotonic_us
    try:
        blocks.extend(_until(source, max(round(seconds * source.rate_hz), 2)))
    except EndedError:
        pass  # the source is a file: all of it counts
    finally:
        source.stop()
    return read(source.channels, blocks, at_us, kinds)


def _until(source: Source, wanted: int) -> Iterator[Block]:
    """A source's blocks until there are enough samples, or none for some seconds. Raises SourceError."""
    had, idle_s = 0, 0.0
    while had < wanted and idle_s < PATIENCE_S:
        reading = source.read(READ_S)
        idle_s += 0.0 if reading.items else READ_S
        for item in reading.items:
            if isinstance(item, Block):
                had, idle_s = had + item.rows, 0.0
                yield item
            else:
                idle_s += (item.to_index - item.from_index) / source.rate_hz


def read(
    channels: Sequence[Channel], blocks: Sequence[Block], at_us: int, kinds: Container[Measures] = HAVE_A_ZERO
) -> list[ZeroReading]:
    """The readings of the channels that measure one of `kinds`. Raises UnusableError, ValueError."""
    if sum(block.rows for block in blocks) < 2:  # noqa: PLR2004 - one sample has no spread
        raise ValueError("fewer than two samples")
    wanted = [column for column, each in enumerate(channels) if each.measures in kinds]
    own = [channels[column] for column in wanted]
    good = [usable(Block(each.first_index, tuple(each.columns[i] for i in wanted)), own) for each in blocks]
    return [read_zero(channel, column, good, at_us) for column, channel in enumerate(own)]


def store(
    folder: Path, before: list[ZeroReading], after: list[ZeroReading], during: Sequence[ZeroReading] = ()
) -> None:
    """Put the readings beside a trace, as zeros.json. Raises OSError."""
    readings = {"before": before, "during": during, "after": after}
    write_whole(folder / NAME, compact({when: list(map(asdict, each)) for when, each in readings.items()}))


def kept(path: Path) -> dict[str, list[ZeroReading]]:
    """The readings of a zeros.json: `before`, `during` and `after`; without the file, none. Raises TraceError."""
    nothing: dict[str, list[ZeroReading]] = {"before": [], "during": [], "after": []}
    try:
        document = {"during": []} | json.loads(path.read_bytes())
        return {when: [ZeroReading(**each) for each in document[when]] for when in nothing}
    except FileNotFoundError:
        return nothing
    except (ValueError, TypeError, KeyError) as error:
        raise TraceError(f"{path}: this file has no zero readings: {error!r}") from None


SETTLE_S = 0.5  # the settling time of a relay and the filter behind it, before and after
CHECK_S = 2.0
LONGEST_S = 10.0  # the most time of the last check, when the recording ends
COMMAND_S = 2.0
MOST_SAID = 200


class SwitchError(Exception):
    """The relay's command failed; the message says why."""


class Switch(Protocol):
    """Shorts the inputs, and opens them."""

    def __call__(self, *, on: bool) -> None:
        """Short the inputs, or open them. Raises SwitchError."""


class Relay:
    """A command: with `on` it shorts the inputs, with `off` it opens them."""

    def __init__(self, command: str) -> None:
        """Split the command into words. Raises SwitchError if it has none, or an open quote."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise SwitchError(f"{command}: {error}") from None
        if not self._words:
            raise SwitchError("it names no command")

    def __call__(self, *, on: bool) -> None:
        """Run the command. Raises SwitchError."""
        words = [*self._words, "on" if on else "off"]
        try:
            ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SwitchError(f"{shlex.join(words)}: {error}"[:MOST_SAID]) from None
        if ran.returncode:
            said = ran.stderr.decode(errors="replace").strip() or f"exit status {ran.returncode}"
            raise SwitchError(f"{shlex.join(words)}: {said}"[:MOST_SAID])


class Zeroing(Tended):
    """A tended source. Its zero is checked at the beginning, every `every_s` seconds, and at the end.

    `readings` are the zero readings so far, by time. If a check fails, `failed` says why and the recording goes on.
    """

    def __init__(self, source: Source, switch: Switch, every_s: float = math.inf) -> None:
        """Open the inputs. Raises SwitchError."""
        super().__init__(source)
        switch(on=False)
        self.readings: list[ZeroReading] = []
        self.failed: list[str] = []
        self._switch = switch
        rate = self.source.rate_hz
        self._every = every_s * rate
        self._settle, self._check = math.ceil(SETTLE_S * rate), max(math.ceil(CHECK_S * rate), 2)
        self._due = 0.0
        self._closed_at: int | None = None  # the index at which the inputs were shorted
        self._lost_until = 0  # samples before this index are not the laptop's power
        self._blocks: list[Block] = []
        self._stuck = ""  # why the inputs are still shorted

    @property
    def trouble(self) -> str:
        """The present problem, for people; empty if there is none."""
        return self._stuck or super().trouble

    def start(self, first_index: int) -> TimePair:
        """Start, with shorted inputs. Raises SourceError."""
        self._begin(first_index)
        return super().start(first_index)

    def read(self, timeout_s: float) -> Reading:
        """Return new samples and gaps. The samples of a zero check become a gap."""
        if self._stuck and self.next_index >= self._lost_until:
            self._open()
        elif self._closed_at is None and self.next_index >= self._due:
            self._begin(self.next_index)
        reading = super().read(timeout_s)
        items = tuple(piece for item in reading.items for piece in self._looked_at(item))
        if self._closed_at is not None and self.next_index >= self._closed_at + self._settle + self._check:
            self._end()
        return Reading(items, reading.at)

    def finish(self) -> Reading:
        """Finish the zero check under way, or check once more; then stop the source."""
        items: list[Block | Gap] = []
        at = None
        if not (self.ended or self.trouble):
            if self._closed_at is None:
                self._begin(self.next_index)
            deadline = time.monotonic() + LONGEST_S
            while self._closed_at is not None and not self.ended and time.monotonic() < deadline:
                reading = self.read(SETTLE_S)
                items += reading.items
                at = reading.at or at
        if self._closed_at is not None or self._stuck:
            self._open()
        last = super().finish()
        return Reading((*items, *last.items), last.at or at)

    def _begin(self, index: int) -> None:
        self._due = index + self._every
        self._blocks = []
        try:
            self._switch(on=True)
        except SwitchError as error:
            self._fail(str(error))
            return
        self._closed_at = index

    def _looked_at(self, item: Block | Gap) -> Iterator[Block | Gap]:
        """Yield an item for the trace. Samples with shorted inputs, or soon after, become a gap."""
        shorted = self._closed_at is not None or bool(self._stuck)
        if isinstance(item, Gap) or not (shorted or item.first_index < self._lost_until):
            yield item
            return
        if not shorted:  # the relay opens
            cut = min(self._lost_until, item.end_index)
            yield Gap(item.first_index, cut, Reason.ZERO)
            if cut < item.end_index:
                yield Block(cut, tuple(column[cut - item.first_index :] for column in item.columns))
            return
        late = item.rows if self._closed_at is None else self._closed_at + self._settle - item.first_index
        late = max(late, 0)
        if late < item.rows:
            self._blocks.append(Block(item.first_index + late, tuple(column[late:] for column in item.columns)))
        yield Gap(item.first_index, item.end_index, Reason.ZERO)

    def _end(self) -> None:
        """Read the zero, and open the inputs."""
        try:
            self.readings += read(self.source.channels, self._blocks, time.monotonic_ns() // 1000)
        except ValueError as error:
            self._fail(str(error))
        self._open()

    def _open(self) -> None:
        """Open the inputs. If that fails, samples still become a gap, and `read` tries again soon."""
        self._closed_at, self._blocks, was = None, [], self._stuck
        try:
            self._switch(on=False)
            self._stuck = ""
        except SwitchError as error:
            self._stuck = f"the inputs are still shorted: {error}"
            if not was:
                self._fail(self._stuck)
        self._lost_until = self.next_index + self._settle

    def _fail(self, why: str) -> None:
        self.failed.append(why)
