# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of other programs: CSV and TDMS, whoever wrote them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import pytest
from nptdms import ChannelObject, TdmsWriter

from happe_power import sources
from happe_power.model import Gap, Reason
from happe_power.sources import file
from happe_power.sources.clock import VirtualClock
from happe_power.sources.source import EndedError, SourceError
from source_ledger import Taken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from happe_power.sources.source import Source

START = np.datetime64(1_793_440_000, "s")


def import_all(spec: str, first_index: int = 0) -> Taken:
    """Read a file to its end."""
    source = sources.make(spec, VirtualClock(monotonic_us=5_000_000_000, realtime_us=1_793_440_000_000_000))
    taken = Taken(source.start(first_index))
    with pytest.raises(EndedError) as ended:
        read_on(source, taken)
    assert f"after {taken.end_index - first_index} samples" in str(ended.value)
    return taken


def read_on(source: Source, taken: Taken) -> NoReturn:
    """Read until it raises."""
    while True:
        taken.add(source.read(0.2))


def csv_of(tmp_path: Path, text: str) -> str:
    """A spec of a file with this text, a thousand samples a second."""
    (tmp_path / "rig.csv").write_bytes(text.encode())
    return f"file:{tmp_path}/rig.csv,channels=shunt_v+supply_v,rate=1000"


def test_columns_are_taken_by_name_in_the_order_they_are_named(tmp_path: Path) -> None:
    taken = import_all(csv_of(tmp_path, '"supply_v", note ,shunt_v\r\n20.0,7,0.1\r\n20.1,8,0.2\r\n'))
    assert taken.column(0).tolist() == [0.1, 0.2]
    assert taken.column(1).tolist() == [20.0, 20.1]
    assert taken.pairs[-1].monotonic_us - taken.began.monotonic_us == 2000


def test_a_jump_of_the_time_is_a_gap_and_jitter_is_none(tmp_path: Path) -> None:
    times = [0.0, 0.0013, 0.0018, 0.0032, 0.010, 0.011]
    rows = "".join(f"{100 + time},{number},20\n" for number, time in enumerate(times))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + rows) + ",time=t", first_index=50)
    assert taken.gaps == [Gap(54, 60, Reason.STALL)]
    assert taken.column(0).tolist() == [0, 1, 2, 3, 4, 5]
    assert taken.pairs[-1].index == 62


@pytest.mark.parametrize("true_hz", [900.0, 1100.0])
def test_a_files_clock_that_is_off_loses_nothing_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, true_hz: float
) -> None:
    # Given chunks in which the times go away from the nominal thousand a second by some periods
    monkeypatch.setattr(file, "CHUNK", 1000)
    rows = 300
    text = "".join(f"{number / true_hz:.6f},{number},20\n" for number in range(rows))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + text) + ",time=t", first_index=50)
    assert len(taken.blocks) > 4
    assert taken.gaps == []
    assert taken.column(0).tolist() == list(range(rows))
    last = taken.pairs[-1]
    assert last.index == 50 + rows
    assert last.monotonic_us - taken.began.monotonic_us == pytest.approx((rows - 1) / true_hz * 1e6 + 1000, abs=2)


def test_a_jump_between_chunks_is_as_long_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "CHUNK", 1000)
    times = [number * 1.1e-3 + (0.5 if number >= 150 else 0.0) for number in range(300)]
    text = "".join(f"{time:.6f},{number},20\n" for number, time in enumerate(times))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + text) + ",time=t")
    assert taken.gaps == [Gap(150, 650, Reason.STALL)]


def test_a_jump_of_the_index_is_a_gap(tmp_path: Path) -> None:
    rows = "".join(f"{index},{index / 10},20\n" for index in (7, 8, 9, 20, 21))
    assert import_all(csv_of(tmp_path, "n,shunt_v,supply_v\n" + rows) + ",index=n").gaps == [Gap(3, 13, Reason.STALL)]


def test_a_malformed_line_is_a_lost_sample(tmp_path: Path) -> None:
    taken = import_all(csv_of(tmp_path, "shunt_v,supply_v\n1,2\noops\n3,4\n"))
    assert taken.gaps == [Gap(1, 2, Reason.INVALID)]
    assert taken.column(0).tolist() == [1, 3]


def test_beside_a_malformed_line_the_index_tells_what_was_lost(tmp_path: Path) -> None:
    taken = import_all(csv_of(tmp_path, "n,shunt_v,supply_v\n0,1,2\noops\n# a comment\n2,3,4\n") + ",index=n")
    assert taken.gaps == [Gap(1, 2, Reason.INVALID)]


@pytest.mark.parametrize("places", [(0, 1, 1), (0, 2, 1), (0, 1, "nan"), (0, "inf", 5), (0, 1, 1e300)])
def test_times_that_do_not_go_up_are_refused(tmp_path: Path, places: tuple[object, ...]) -> None:
    rows = "".join(f"{place},1,2\n" for place in places)
    source = sources.make(csv_of(tmp_path, "t,shunt_v,supply_v\n" + rows) + ",time=t", VirtualClock())
    source.start(0)
    with pytest.raises(SourceError, match=r"rig\.csv: times or indices do not go up after sample 0"):
        source.read(0.2)


def test_a_file_larger_than_a_chunk_is_whole(tmp_path: Path) -> None:
    rows = 200_000
    text = "shunt_v,supply_v\n" + "".join(f"{number},{number / 8}\n" for number in range(rows))
    taken = import_all(csv_of(tmp_path, text))
    assert len(taken.blocks) > 2
    assert (taken.column(0) == np.arange(rows)).all()


def test_a_last_line_without_an_end_counts(tmp_path: Path) -> None:
    assert import_all(csv_of(tmp_path, "shunt_v,supply_v\n1,2\n3,4")).column(1).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "rig.csv:1: there is not one column 'shunt_v'; there are: "),
        ("\x00\x01\x02", "rig.csv:1: there is not one column 'shunt_v'"),
        ("shunt_v\n1\n", "rig.csv:1: there is not one column 'supply_v'; there are: shunt_v"),
        ("shunt_v,shunt_v,supply_v\n", "rig.csv:1: there is not one column 'shunt_v'"),
        ("x" * 200_000, "rig.csv:1: there is not one column 'shunt_v'; there are: " + "x" * 200),
    ],
)
def test_a_file_without_the_columns_is_told_which_it_has(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)) as raised:
        sources.make(csv_of(tmp_path, text))
    assert len(str(raised.value)) < 1000


def test_a_huge_line_is_refused(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, "shunt_v,supply_v\n1,2\n" + "9" * 3_000_000)
    with pytest.raises(SourceError, match=r"rig\.csv: a line goes on for more than 65536 bytes; is it a CSV file\?"):
        import_all(spec)


def test_a_file_that_is_not_there_or_a_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nowhere\.csv: No such file"):
        sources.make(f"file:{tmp_path}/nowhere.csv,channels=a+b")
    with pytest.raises(SourceError, match="Is a directory"):
        sources.make(f"file:{tmp_path},channels=a+b")


def test_a_file_that_says_when_it_was_begun_has_that_time(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, "shunt_v,supply_v\n1,2\n") + ",started=2026-10-31T10:06:00+01:00"
    began = import_all(spec).began
    instant = int(datetime(2026, 10, 31, 9, 6, tzinfo=UTC).timestamp() * 1_000_000)
    assert (began.realtime_us, began.monotonic_us) == (instant, 5_000_000_000 + instant - 1_793_440_000_000_000)


def test_a_file_older_than_the_boot_is_refused_unless_it_is_to_begin_now(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, "shunt_v,supply_v\n1,2\n")
    source = sources.make(spec + ",started=2025-01-01T00:00:00Z", VirtualClock())
    with pytest.raises(SourceError, match=r"before this machine was started: .* with started=now it is imported"):
        source.start(0)
    assert import_all(spec + ",started=now").began.monotonic_us == 5_000_000_000


@pytest.mark.parametrize(
    ("started", "said"),
    [("yesterday", "is no instant; e.g. started=2026-11-21T14:00:00Z"), ("2026-01-01T00:00:00", "has no time zone")],
)
def test_a_start_that_is_no_instant_is_refused(tmp_path: Path, started: str, said: str) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.make(csv_of(tmp_path, "shunt_v,supply_v\n") + f",started={started}")


def tdms_of(tmp_path: Path, columns: Mapping[str, object], **properties: object) -> str:
    """A spec of a TDMS file with these channels of a group `rig`."""
    with TdmsWriter(str(tmp_path / "rig.tdms")) as writer:
        writer.write_segment([ChannelObject("rig", name, np.array(data), properties) for name, data in columns.items()])
    return f"file:{tmp_path}/rig.tdms,channels=rig/shunt+rig/supply"


def test_a_waveform_of_tdms_has_its_rate_and_its_start(tmp_path: Path) -> None:
    columns = {"shunt": np.arange(300_000) * 1e-6, "supply": np.full(300_000, 20.0)}
    spec = tdms_of(tmp_path, columns, wf_increment=1e-4, wf_start_time=START)
    assert sources.make(spec).rate_hz == pytest.approx(10_000.0)
    taken = import_all(spec)
    assert (taken.column(0) == columns["shunt"]).all()
    assert taken.began.realtime_us == 1_793_440_000_000_000
    assert taken.pairs[-1].realtime_us - taken.began.realtime_us == 30_000_000


@pytest.mark.parametrize(
    ("columns", "extra", "said"),
    [
        ({"shunt": [1.0]}, "", "there is no channel 'rig/supply'; there are: rig/shunt"),
        ({"shunt": [1.0], "supply": [1.0, 2.0]}, ",rate=10", "are of different lengths"),
        ({"shunt": ["a"], "supply": ["b"]}, ",rate=10", "channel 'rig/shunt' has no numbers"),
        ({"shunt": [1.0], "supply": [2.0]}, "", "does not say at what rate it was sampled; say rate="),
    ],
)
def test_what_is_wrong_with_a_tdms_file_is_told(
    tmp_path: Path, columns: dict[str, object], extra: str, said: str
) -> None:
    with pytest.raises(SourceError, match=re.escape(said)):
        sources.make(tdms_of(tmp_path, columns) + extra)


@pytest.mark.parametrize("cut", [0, 3, 20, 27, 60])
def test_a_tdms_file_that_is_cut_off_or_none_at_all_is_told(tmp_path: Path, cut: int) -> None:
    spec = tdms_of(tmp_path, {"shunt": [1.0], "supply": [2.0]})
    file = tmp_path / "rig.tdms"
    file.write_bytes(file.read_bytes()[:cut])
    with pytest.raises(SourceError, match=r"rig\.tdms"):
        sources.make(spec + ",rate=10")
