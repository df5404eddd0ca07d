# SPDX-License-Identifier: GPL-2.0-or-later
"""Whole recordings of given readings: parts, gaps, manifest; bounded queues; traces that follow each other."""

import errno
import hashlib
import json
import shutil
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

from disk import Disk, on_full_disks
from given_sources import SHUNT, SUPPLY, Given, joined, pair_at, record, samples, steady
from happe_contract import schemas
from happe_contract.traces import Gap, Reason, TimePair
from happe_power.recording import closing, raw
from happe_power.recording.files import locked
from happe_power.recording.header import FOLDERS, Purpose, fitting_part_seconds, header_of
from happe_power.recording.recorder import Limits, Recorder
from happe_power.recording.tending import Tended
from happe_power.recording.writer import MOST_WAITING, Writer
from happe_power.sources.source import Reading, SourceError
from happe_power.trace import Trace, TraceError
from happe_power.verify import verify

RATE = 1000.0


def sound(recorder: Recorder) -> Trace:
    """Return the only trace of a recording without a fault. It must be in order."""
    assert (recorder.errors, recorder.failed) == ([], [])
    (folder,) = recorder.folders
    report = verify(folder)
    assert report.problems == []
    assert report.state == "ended"
    return Trace.open(folder)


def test_every_sample_is_kept_in_parts_of_the_wanted_length(tmp_path: Path) -> None:
    trace = sound(record(tmp_path, steady(RATE, 130, 3.4)))
    assert trace.numbers == [0, 1, 2, 3]
    assert [(footer.first_index, footer.rows) for footer in trace.footers[:3]] == [
        (0, 1000),
        (1000, 1000),
        (2000, 1000),
    ]
    assert joined(trace.blocks()) == list(range(trace.end_index))
    whole = np.concatenate([block.columns[0] for block in trace.blocks(100, 700)])
    given = np.concatenate([samples(first, 130).columns[0] for first in range(0, 910, 130)])
    assert np.array_equal(whole, given[100:700])


def test_the_manifest_lists_each_part_with_its_bytes_and_digest(tmp_path: Path) -> None:
    trace = sound(record(tmp_path, steady(RATE, 500, 2.5)))
    assert trace.manifest is not None
    schemas.check(schemas.Kind.POWER_TRACE_MANIFEST, trace.manifest)
    for part in trace.manifest["parts"]:
        raw = trace.part(part["number"]).read_bytes()
        assert (part["bytes"], part["sha256"]) == (len(raw), hashlib.sha256(raw).hexdigest())
    assert trace.manifest["samples"] == trace.manifest["end_index"] == 2500
    assert trace.manifest["ended"]["index"] > 1500
    assert not (trace.folder / "open").exists()


def test_each_part_says_its_time_and_the_time_base_is_all_of_it(tmp_path: Path) -> None:
    trace = sound(record(tmp_path, [Reading((samples(0, 3500),), pair_at(3500, RATE))]))
    assert all(footer.time_base for footer in trace.footers)
    assert (
        trace.time_base[0] == trace.started == TimePair(0, pair_at(0, RATE).monotonic_us, pair_at(0, RATE).realtime_us)
    )
    assert trace.time_base[-1] == pair_at(3500, RATE)


def test_gaps_between_and_inside_of_parts_are_in_the_account_with_their_reasons(tmp_path: Path) -> None:
    loud = samples(3000, 100)
    loud.columns[0][40:50] = 32767
    readings = [
        Reading((samples(0, 400), Gap(400, 450, Reason.OVERFLOW), samples(450, 300)), pair_at(750, RATE)),
        Reading((Gap(750, 3000, Reason.OVERFLOW), loud), pair_at(3100, RATE)),
    ]
    trace = sound(record(tmp_path, readings))
    assert trace.gaps == [
        Gap(400, 450, Reason.OVERFLOW),
        Gap(750, 3000, Reason.OVERFLOW),
        Gap(3040, 3050, Reason.SATURATED),
    ]
    assert [footer.runs for footer in trace.footers] == [((0, 400), (450, 300)), ((3000, 40), (3050, 50))]
    assert joined(trace.blocks()) == [*range(400), *range(450, 750), *range(3000, 3040), *range(3050, 3100)]


def test_a_full_trace_is_followed_by_another_at_the_very_next_index(tmp_path: Path) -> None:
    recorder = record(tmp_path, steady(RATE, 100, 20), limits=Limits(parts=3))
    traces = [Trace.open(folder) for folder in recorder.folders]
    assert len(traces) > 1
    assert [verify(trace.folder).problems for trace in traces] == [[]] * len(traces)
    assert traces[0].started.index == 0
    for before, after in pairwise(traces):
        assert before.end_index == after.started.index
        assert after.started == pair_at(after.started.index, RATE)
    assert sum(footer.rows for trace in traces for footer in trace.footers) == 20_000 == recorder.rows


def test_a_mistake_in_a_source_ends_the_recording_with_what_there_is(tmp_path: Path) -> None:
    recorder = record(tmp_path, [*steady(RATE, 100, 0.5), ZeroDivisionError("a bug")])
    assert [type(error) for error in recorder.errors] == [ZeroDivisionError]
    report = verify(recorder.folders[0])
    assert (report.problems, report.samples, report.state) == ([], 500, "ended")


def test_a_mistake_while_parts_are_closed_ends_the_recording_and_leaves_all_for_recovery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(closing, "close_part", lambda *_: 1 // 0)
        recorder = record(tmp_path, steady(RATE, 100, 60))
    assert [type(error) for error in recorder.errors] == [ZeroDivisionError]
    assert [found.problem for found in closing.recover(tmp_path)] == [""]
    report = verify(recorder.folders[0])
    assert (report.problems, report.state) == ([], "ended")
    assert report.samples == recorder.rows > 0


def test_a_source_that_can_not_be_started_leaves_nothing_behind(tmp_path: Path) -> None:
    source = Given([], start_errors=[SourceError("not there")])
    with pytest.raises(SourceError):
        Recorder(Tended(source), tmp_path / "a-study", Purpose("a-study")).start()
    assert list(tmp_path.rglob("*")) == []


def test_parts_are_made_shorter_so_that_they_fit_a_server() -> None:
    assert fitting_part_seconds(Given([], rate_hz=100_000.0), 10) == 10
    assert fitting_part_seconds(Given([], rate_hz=8_000_000.0), 10) == 4
    with pytest.raises(ValueError, match="more than a part holds"):
        fitting_part_seconds(Given([], rate_hz=10_000_000.0, channels=(SHUNT,) * 16), 10)


def test_readings_that_find_no_room_are_a_gap_and_the_recording_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a writer that is held up in its first part, until the source has given everything
    given, close_part = threading.Event(), closing.close_part

    def slow(trace: Trace, number: int, records: list[raw.Record]) -> None:
        given.wait()
        close_part(trace, number, records)

    monkeypatch.setattr(closing, "close_part", slow)
    source = Given(steady(RATE, 100, 60.0), patient=False, done=given.set)
    recorder = Recorder(Tended(source), tmp_path / "a-study", Purpose("a-study", part_seconds=1))
    recorder.start()
    given.wait()
    recorder.stop()
    trace = sound(recorder)
    assert trace.gaps
    assert {gap.reason for gap in trace.gaps} == {Reason.STORAGE}
    assert recorder.rows + recorder.lost == trace.end_index == 60_000


def writer_in(folder: Path, *, behind: bool = False) -> Writer:
    """A writer of parts of a second."""
    header = header_of(Given([]), Purpose("a-study", part_seconds=1), "x", pair_at(0, RATE), "monotonic:x")
    for name in FOLDERS:
        (folder / name).mkdir()
    return Writer(closing.Open(Trace(folder, header), ExitStack()), (SHUNT, SUPPLY), lambda: True, lambda: behind)


def put_all(writer: Writer, readings: Iterable[Reading]) -> None:
    """Write readings."""
    for reading in readings:
        writer.put(reading)


def test_parts_that_the_disk_refuses_wait_and_later_ones_find_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    writer, seconds = writer_in(tmp_path), MOST_WAITING + 2
    with monkeypatch.context() as broken:
        broken.setattr(closing, "close_part", full)
        put_all(writer, steady(RATE, 500, seconds))
    assert (writer.rows, writer.lost) == (MOST_WAITING * 1000, 2000)
    assert "as fast" in writer.trouble
    writer.tend()
    put_all(writer, [Reading((samples(seconds * 1000, 500),), None)])
    assert (writer.trouble, writer.rows) == ("", MOST_WAITING * 1000 + 500)
    assert len(list((tmp_path / "parts").iterdir())) == MOST_WAITING


def test_a_part_is_on_the_disk_before_its_name_is_and_its_samples_before_that(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    with Disk(tmp_path) as disk:
        put_all(writer, steady(RATE, 500, 1.5))
        writer.tend()
    assert disk.lost() == []
    closed = ["fsync .000000.parquet.unfinished", "rename .000000.parquet.unfinished", "fsync parts"]
    assert disk.calls[:2] == ["fsync open", "fdatasync 000000.raw"]
    assert disk.calls[2:4] == ["fsync digests.jsonl", f"fsync {tmp_path.name}"]
    assert disk.calls[4:] == [*closed, "unlink 000000.raw", "fsync open", "fdatasync 000001.raw"]


def test_a_trace_is_on_the_disk_when_it_begins_and_ends_and_a_full_disk_leaves_nothing_unfinished(
    tmp_path: Path,
) -> None:
    name = str(uuid4())
    header = header_of(Given([]), Purpose("a-study"), name, pair_at(0, RATE), f"monotonic:{name}")
    folder = tmp_path / "a-study"
    folder.mkdir()

    def record(disk: Disk) -> None:
        shutil.rmtree(folder / name, ignore_errors=True)
        with suppress(OSError):
            opened = closing.create(Trace(folder / name, header), {"rig.toml": b"x"})
            assert disk.lost() == []
            opened.end()
            assert disk.lost() == []

    for _ in on_full_disks(tmp_path, record):
        assert [path.name for path in folder.rglob(".*")] == []


def test_samples_that_wait_in_memory_are_written_before_parts_are_closed(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, behind=True)
    put_all(writer, steady(RATE, 500, MOST_WAITING + 2))
    writer.tend()
    assert (writer.rows, writer.lost) == ((MOST_WAITING + 2) * 1000, 0)
    assert len(list((tmp_path / "open").glob("*.raw"))) == MOST_WAITING - 1
    assert len(list((tmp_path / "parts").iterdir())) == 3


@pytest.fixture
def left_open(tmp_path: Path) -> Path:
    """Return the folder of a trace whose recorder died after 2.3 s: two parts are closed, one is a raw file."""
    finished = record(tmp_path, steady(RATE, 100, 2.3)).folders[0]
    (finished / "manifest.json").unlink()
    trace = Trace.open(finished)
    (finished / "open").mkdir()
    file = raw.RawFile(trace.raw(2))
    file.append([pair_at(2000, RATE), *(samples(first, 100) for first in range(2000, 2300, 100)), pair_at(2300, RATE)])
    file.close()
    trace.part(2).unlink()
    return finished


def test_what_was_left_open_is_ended_with_all_that_is_on_the_disk(left_open: Path) -> None:
    assert [found.problem for found in closing.recover(left_open.parents[1])] == [""]
    report = verify(left_open)
    assert (report.problems, report.state, report.samples) == ([], "ended", 2300)
    assert list(closing.recover(left_open.parents[1])) == []


def test_a_torn_end_is_cut_off_and_is_a_gap_where_its_indices_are_known(left_open: Path) -> None:
    file = left_open / "open/000002.raw"
    file.write_bytes(file.read_bytes()[: -raw.HEAD_BYTES - 10])
    assert [found.problem for found in closing.recover(left_open.parents[1])] == [""]
    assert verify(left_open).problems == []
    assert Trace.open(left_open).gaps == [Gap(2200, 2300, Reason.KILLED)]


def test_a_part_that_was_closed_before_the_kill_is_not_made_again(left_open: Path) -> None:
    written = (left_open / "open/000002.raw").read_bytes()
    list(closing.recover(left_open.parents[1]))
    closed = (left_open / "parts/000002.parquet").read_bytes()
    (left_open / "manifest.json").unlink()
    (left_open / "open").mkdir()
    (left_open / "open/000002.raw").write_bytes(written[: len(written) // 2])
    assert [found.problem for found in closing.recover(left_open.parents[1])] == [""]
    assert (left_open / "parts/000002.parquet").read_bytes() == closed
    assert verify(left_open).problems == []


def test_a_trace_that_is_being_recorded_is_left_alone(left_open: Path) -> None:
    with locked(left_open / "open/lock") as free:
        assert free
        assert list(closing.recover(left_open.parents[1])) == []
    assert not (left_open / "manifest.json").exists()


def test_a_trace_with_a_missing_part_is_not_ended_and_the_part_is_named(left_open: Path) -> None:
    (left_open / "parts/000001.parquet").unlink()
    (found,) = closing.recover(left_open.parents[1])
    assert "000001.parquet: is missing" in found.problem


def test_a_header_that_was_never_finished_goes_and_one_without_samples_is_ended(tmp_path: Path) -> None:
    (tmp_path / "a-study/.half.new/open").mkdir(parents=True)
    (tmp_path / "a-study/.half.new/open/lock").touch()
    trace = Trace.open(record(tmp_path, []).folders[0])
    (trace.folder / "manifest.json").unlink()
    assert [found.problem for found in closing.recover(tmp_path)] == [""]
    assert verify(trace.folder).problems == []
    assert not (tmp_path / "a-study/.half.new").exists()


def test_a_trace_under_way_is_read_up_to_its_last_closed_part(left_open: Path) -> None:
    trace = Trace.open(left_open)
    assert (trace.manifest, trace.end_index, joined(trace.blocks())) == (None, 2000, list(range(2000)))
    report = verify(left_open)
    assert (report.state, report.problems) == ("open", [])


def test_clock_estimates_are_read_without_a_torn_last_line(left_open: Path) -> None:
    clock = Trace.open(left_open).header["clock"]
    said = {"clock": clock, "monotonic_us": 9, "offset_us": -3, "uncertainty_us": 2}
    line, another = json.dumps(said), json.dumps(said | {"clock": "monotonic:after-a-reboot", "offset_us": 7})
    (left_open / "clocks.jsonl").write_text(f"{line}\n{another}\n{line[:20]}")
    assert [each.offset_us for each in Trace.open(left_open).clocks] == [-3]
    (left_open / "clocks.jsonl").write_text("nonsense\n")
    with pytest.raises(TraceError, match=r"clocks.jsonl:1: is not JSON"):
        _ = Trace.open(left_open).clocks
