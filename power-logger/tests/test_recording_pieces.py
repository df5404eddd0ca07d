# SPDX-License-Identifier: GPL-2.0-or-later
"""The pure pieces of a recording: guard, indices, time base, raw file, parts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from given_sources import MONOTONIC_US, SHUNT, SUPPLY, Given, pair_at, samples, spans_of
from happe_contract.parts import Footer, read_footer, room
from happe_contract.traces import Block, Channel, Gap, Measures, Reason, TimePair
from happe_power.recording import indices, parts, raw
from happe_power.recording.files import PIECE, write_whole
from happe_power.recording.guard import guarded
from happe_power.recording.tending import Tended
from happe_power.sources.clock import VirtualClock
from happe_power.sources.source import EndedError, FinalError, Reading, SourceError, UnpluggedError

CHANNELS = (SHUNT, SUPPLY)
FLOAT = Channel("power", Measures.POWER, "W", np.dtype(np.float64), 1.0, 0.0, 0.0, 100.0)


def block(*values: int, first: int = 0) -> Block:
    return Block(first, (np.array(values, np.int16), np.zeros(len(values), np.int16)))


def reasons(items: list[Block | Gap]) -> list[tuple[int, int, str]]:
    return [(i.from_index, i.to_index, i.reason.value) for i in items if isinstance(i, Gap)]


@pytest.mark.parametrize("end", [-32768, 32767])
def test_a_channel_at_either_end_of_its_range_is_a_gap_and_the_rows_beside_it_stay(end: int) -> None:
    found = guarded(block(1, 2, end, end, 5, first=100), CHANNELS, 0)
    assert spans_of(found) == [(100, 102), (102, 104), (104, 105)]
    assert reasons(found) == [(102, 104, "saturated")]
    assert isinstance(found[2], Block)
    assert found[2].columns[0].tolist() == [5]


def test_rows_between_two_saturated_ones_are_lost_with_them_if_they_are_few() -> None:
    values = [32767, *[0] * 3, 32767, *[0] * 4, 32767]
    assert reasons(guarded(block(*values), CHANNELS, 4)) == [(0, 5, "saturated"), (9, 10, "saturated")]


def test_however_often_a_channel_goes_bad_there_are_at_most_a_hundred_gaps_a_second() -> None:
    values = np.where(np.arange(10_000) % 2, np.nan, 1.0)
    found = guarded(Block(0, (values,)), (FLOAT,), 100)
    assert reasons(found) == [(1, 10_000, "invalid")]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 9.9e37])
def test_what_is_no_number_or_out_of_the_possible_is_invalid(value: float) -> None:
    found = guarded(Block(7, (np.array([1.0, value, 3.0]),)), (FLOAT,), 5)
    assert reasons(found) == [(8, 9, "invalid")]


def test_what_a_source_skips_or_gives_twice_is_put_right() -> None:
    items = [block(1, 2, first=0), block(3, first=4), block(9, 9, 5, first=3)]
    found = list(indices.continued(items, 0))
    assert spans_of(found) == [(0, 2), (2, 4), (4, 5), (5, 6)]
    assert reasons(found) == [(2, 4, "invalid")]
    assert spans_of(list(indices.continued([block(0, 1, 2, 3)], 2))) == [(2, 4)]


def test_gaps_found_a_second_time_are_not_counted_again() -> None:
    known = [Gap(0, 5, Reason.STALL)]
    assert indices.merged(known, known) == known
    assert indices.merged(known, [Gap(3, 8, Reason.STALL)]) == [Gap(0, 8, Reason.STALL)]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=8))
def test_holes_and_spans_together_are_every_index_once(drawn: list[tuple[int, int]]) -> None:
    spans, at = [], 0
    for skip, length in drawn:
        spans.append((at + skip, at + skip + length))
        at += skip + length
    holes = list(indices.holes(0, at + 3, spans))
    covered = [i for first, end in (*spans, *holes) for i in range(first, end)]
    assert sorted(covered) == list(range(at + 3))
    assert list(indices.overlaps(0, spans)) == []
    assert list(indices.overlaps(1, [(0, 2), (1, 3)])) == [(0, 1), (1, 2)]


def test_of_a_second_the_pair_that_came_least_late_is_kept() -> None:
    late = [30, 5, 12, 40, 3]
    pairs = [TimePair(i * 400, i * 400_000 + us, 0) for i, us in enumerate(late)]
    assert indices.thinned(pairs, 1000, 1) == [pairs[1], pairs[4]]


def test_a_time_base_never_goes_back() -> None:
    pairs = [TimePair(0, 100, 0), TimePair(5000, 90, 0), TimePair(4000, 120, 0), TimePair(6000, 130, 0)]
    assert indices.thinned(pairs, 1000, 1) == [pairs[0], pairs[2], pairs[3]]


def test_a_manifest_has_at_most_as_many_pairs_as_its_schema_allows() -> None:
    pairs = [TimePair(i * 60, i * 60_000_000, 0) for i in range(20_000)]
    kept = indices.for_manifest(pairs, 1.0)
    assert len(kept) <= 8192
    assert kept[0] == pairs[0]


def written(path: Path, records: list[raw.Record]) -> bytes:
    """A raw file's bytes."""
    file = raw.RawFile(path)
    file.append(records)
    file.close()
    return path.read_bytes()


RECORDS: list[raw.Record] = [
    TimePair(0, 5, 6),
    samples(0, 100),
    Gap(100, 150, Reason.STALL),
    samples(150, 50),
    TimePair(200, 7, 8),
]


def test_a_raw_file_gives_back_what_was_written(tmp_path: Path) -> None:
    written(tmp_path / "raw", RECORDS)
    content = raw.content_of(raw.read(tmp_path / "raw", CHANNELS))
    assert content.runs == [(0, 100), (150, 50)]
    assert content.gaps == [Gap(100, 150, Reason.STALL)]
    assert content.pairs == [TimePair(0, 5, 6), TimePair(200, 7, 8)]
    assert content.restarts == [1]
    assert np.array_equal(content.columns[1], np.concatenate([samples(0, 100).columns[1], samples(150, 50).columns[1]]))


def test_a_raw_file_torn_at_any_byte_gives_what_is_whole_and_says_what_it_lost(tmp_path: Path) -> None:
    whole = written(tmp_path / "raw", RECORDS)
    for length in range(0, len(whole), 7):
        (tmp_path / "raw").write_bytes(whole[:length])
        content = raw.content_of(raw.read(tmp_path / "raw", CHANNELS))
        spans = sorted([*((first, first + rows) for first, rows in content.runs), *spans_of(content.gaps)])
        end = spans[-1][1] if spans else 0
        assert list(indices.holes(0, end, spans)) == []
        assert sum(rows for _, rows in content.runs) in (0, 100, 150)
        killed = [gap for gap in content.gaps if gap.reason is Reason.KILLED]
        assert killed in ([], [Gap(0, 100, Reason.KILLED)], [Gap(150, 200, Reason.KILLED)])


def test_a_page_of_zeros_in_a_raw_file_is_a_gap_and_what_follows_stays(tmp_path: Path) -> None:
    damaged = bytearray(written(tmp_path / "raw", RECORDS))
    at = raw.HEAD_BYTES * 2 + 40
    damaged[at : at + 64] = bytes(64)
    (tmp_path / "raw").write_bytes(damaged)
    content = raw.content_of(raw.read(tmp_path / "raw", CHANNELS))
    assert content.gaps == [Gap(0, 100, Reason.KILLED), Gap(100, 150, Reason.STALL)]
    assert content.runs == [(150, 50)]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_a_part_has_its_columns_encoding_and_metadata_as_the_contract_says(tmp_path: Path, dtype: str) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - another reader checks the file

    channel = Channel("x", Measures.POWER, "W", np.dtype(dtype), 1.0, 0.0)
    values = np.array([3, -4, 5], dtype)
    footer = Footer("a-trace", 2, ((10, 1), (20, 2)), (TimePair(10, 1, 2),))
    path = tmp_path / "part.parquet"
    path.write_bytes(parts.encode([channel], [values], footer))
    metadata = pq.read_metadata(path)
    column = metadata.row_group(0).column(0)
    assert column.compression == "ZSTD"
    assert ("BYTE_STREAM_SPLIT" if dtype.startswith("float") else "DELTA_BINARY_PACKED") in column.encodings
    assert not column.has_dictionary_page
    assert metadata.schema.column(0).max_definition_level == 0  # required
    assert metadata.metadata == {
        b"happe": b'{"trace":"a-trace","number":2,"runs":[[10,1],[20,2]],"time_base":[[10,1,2]]}'
    }
    assert read_footer(path) == footer
    assert np.array_equal(parts.checked_columns(path, [channel], footer)[0], values)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64"])
def test_a_parts_size_is_the_same_whatever_its_samples_are(tmp_path: Path, dtype: str) -> None:
    rate_hz, seconds = 1000, 10
    channel, chance = Channel("x", Measures.POWER, "W", np.dtype(dtype), 1.0, 0.0), np.random.default_rng(1)
    rows = rate_hz * seconds
    pairs = tuple(TimePair(at, 2**52 + at, 2**52 + at) for at in range(0, rows, rate_hz))
    footer = Footer("a-trace", 2, ((2**52, rows),), pairs)
    wanted = room(rate_hz, seconds, channel.dtype.itemsize)
    noise = np.frombuffer(chance.bytes(rows * channel.dtype.itemsize), dtype)  # random: it does not compress
    for values in (np.zeros(rows, dtype), np.nan_to_num(noise)):
        path = tmp_path / "part.parquet"
        path.write_bytes(parts.encode([channel], [values], footer, wanted))
        assert path.stat().st_size == wanted
        assert read_footer(path) == footer
        assert np.array_equal(parts.checked_columns(path, [channel], footer)[0], values)


@pytest.mark.parametrize("data", [b"", b"x" + bytes(4 * PIECE), bytes(4 * PIECE) + b"x", bytes(3 * PIECE)])
def test_zeros_take_no_room_and_are_read_again(tmp_path: Path, data: bytes) -> None:
    write_whole(tmp_path / "file", data)
    assert (tmp_path / "file").read_bytes() == data
    assert (tmp_path / "file").stat().st_blocks * 512 <= 2 * PIECE


RATE = 1000.0
NONE = Reading((), None)


class Rig:
    """A tended source and its clock; waiting makes time pass."""

    def __init__(self, *readings: Reading | Exception, start_errors: tuple[Exception, ...] = ()) -> None:
        """Start it; `start_errors` come when it is started again."""
        self.clock = VirtualClock(MONOTONIC_US)
        self.source = Given(readings, start_errors=[])
        self.tended = Tended(self.source, self.clock)
        self.tended.start(0)
        self.source.start_errors = list(start_errors)

    def read(self, seconds: float = 0.0) -> tuple[Block | Gap, ...]:
        """Return what the source gives after some seconds."""
        self.clock.sleep(seconds)
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
    rig.clock.sleep(1.0)
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
    rig.clock.sleep(0.5)
    assert rig.tended.finish().items == (Gap(100, 600, Reason.UNPLUGGED),)


def test_a_source_that_has_no_more_has_ended_and_is_not_in_trouble() -> None:
    rig = Rig(*given_readings(0), EndedError("the end"))
    rig.read()
    assert rig.read() == ()
    assert rig.tended.ended
    assert rig.tended.finish() == NONE


def test_what_would_fail_again_ends_the_recording_and_is_not_tried_again() -> None:
    rig = Rig(*given_readings(0), FinalError("rig.csv:7: is wrong"))
    rig.read()
    with pytest.raises(FinalError, match="is wrong"):
        rig.read()
    assert rig.tended.finish() == NONE
    assert (rig.source.starts, rig.source.stops) == ([0], 1)
