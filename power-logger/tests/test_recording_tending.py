# SPDX-License-Identifier: GPL-2.0-or-later
"""An instrument in trouble: stalls, unplugging, errors. Only the test moves the clock."""

from __future__ import annotations

import dataclasses

import pytest

from given_sources import MONOTONIC_US, Given, pair_at, samples, spans_of
from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording.tending import Tended
from happe_power.sources.source import EndedError, FinalError, Reading, SourceError, UnpluggedError

RATE = 1000.0
NONE = Reading((), None)


class Rig:
    """A tended source and its clock; waiting makes time pass."""

    def __init__(self, *readings: Reading | Exception, start_errors: tuple[Exception, ...] = ()) -> None:
        """Start it; `start_errors` come when it is started again."""
        self.now_us = MONOTONIC_US
        self.source = Given(readings, start_errors=[])
        self.tended = Tended(self.source, now_us=lambda: self.now_us, wait=self.wait)
        self.tended.start(0)
        self.source.start_errors = list(start_errors)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now_us += round(seconds * 1e6)

    def read(self, seconds: float = 0.0) -> tuple[Block | Gap, ...]:
        """Return what the source gives after some seconds."""
        self.wait(seconds)
        return self.tended.read(0.2).items


def given_readings(*firsts: int) -> list[Reading]:
    return [Reading((samples(first, 100),), pair_at(first + 100, RATE)) for first in firsts]


def test_silence_is_a_stall_whose_indices_are_from_the_clock_and_the_source_is_started_again() -> None:
    rig = Rig(*given_readings(0), NONE, NONE, *given_readings(3200))
    rig.read(0.1)
    assert rig.read(1.0) == ()
    assert rig.read(2.1) == ()
    assert rig.tended.trouble == "no sample for 3 s"
    assert rig.read() == (Gap(100, 3200, Reason.STALL),)
    assert rig.source.starts == [0, 3200]
    assert rig.tended.trouble == ""
    (block,) = rig.read(0.1)
    assert isinstance(block, Block)
    assert block.first_index == 3200


def test_an_unplugged_instrument_is_tried_again_each_second_and_the_gap_grows_meanwhile() -> None:
    gone = UnpluggedError("it is gone")
    rig = Rig(*given_readings(0), gone, *given_readings(2100), start_errors=(gone,))
    rig.read(0.1)
    assert rig.read() == ()
    assert rig.tended.trouble == "it is gone"
    lost = [item for _ in range(12) for item in rig.read()]
    gaps = [item for item in lost if isinstance(item, Gap)]
    assert gaps[0].from_index == 100
    assert all(gap.reason is Reason.UNPLUGGED for gap in gaps)
    assert [one.to_index for one in gaps[:-1]] == [other.from_index for other in gaps[1:]]
    assert len(rig.source.starts) == 3
    assert rig.source.starts[-1] == gaps[-1].to_index == 2100
    assert rig.tended.trouble == ""


def test_what_passes_while_an_instrument_starts_again_is_in_the_gap() -> None:
    # Given an instrument that takes 20 s to start again, and then counts from the given index
    lost = Gap(1200, 1210, Reason.OVERFLOW)
    again = [Reading((samples(1100, 100), lost), late(1210, 20.0)), Reading((samples(1210, 100),), late(1310, 20.0))]
    rig = Rig(*given_readings(0), SourceError("it stands"), *again)
    rig.source.start_s = 20.0
    rig.read(0.1)
    rig.read()
    rig.wait(1.0)
    started = rig.tended.read(0.2)
    assert rig.source.starts == [0, 1100]
    assert (started.items, started.at) == ((Gap(100, 21_100, Reason.STALL),), pair_at(21_100, RATE))
    # Then its items go on after the gap, at the time at which they were sampled
    first, second = rig.tended.read(0.2), rig.tended.read(0.2)
    assert spans_of(first.items + second.items) == [(21_100, 21_200), (21_200, 21_210), (21_210, 21_310)]
    assert (first.at, second.at) == (pair_at(21_210, RATE), pair_at(21_310, RATE))


def late(index: int, seconds: float) -> TimePair:
    """Return the time of an index, if the instrument was started this much later."""
    return dataclasses.replace(pair_at(index + round(seconds * RATE), RATE), index=index)


def test_an_instrument_that_stays_away_is_in_a_gap_up_to_the_end() -> None:
    gone = UnpluggedError("gone")
    rig = Rig(*given_readings(0), gone, start_errors=(gone,) * 9)
    rig.read(0.1)
    rig.read()
    rig.wait(0.5)
    assert rig.tended.finish().items == (Gap(100, 600, Reason.UNPLUGGED),)


def test_a_source_that_has_no_more_has_ended_and_is_not_in_trouble() -> None:
    rig = Rig(*given_readings(0), EndedError("the end"))
    rig.read()
    assert rig.read() == ()
    assert rig.tended.ended
    assert rig.tended.finish() == NONE


def test_what_a_source_skips_without_a_word_is_invalid() -> None:
    rig = Rig(*given_readings(0, 150))
    rig.read()
    assert rig.read()[0] == Gap(100, 150, Reason.INVALID)


def test_what_would_fail_again_ends_the_recording_and_is_not_tried_again() -> None:
    rig = Rig(*given_readings(0), FinalError("rig.csv:7: is wrong"))
    rig.read()
    with pytest.raises(FinalError, match="is wrong"):
        rig.read()
    assert rig.tended.finish() == NONE
    assert (rig.source.starts, rig.source.stops) == ([0], 1)
