# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of any other program in CSV."""

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_contract.traces import Gap, Reason
from happe_power import sources
from happe_power.source_kit import Taken, check_source
from happe_power.sources import columns
from happe_power.sources.clock import VirtualClock
from happe_power.sources.source import EndedError, FinalError, Source, SourceError
from happe_power.sources.text import Bad, Shape, tables

Table = dict[str, Any]
NOW_US = 1_796_000_000_000_000  # 2026-11-30T00:53:20Z


def import_all(spec: Table, first_index: int = 0) -> Taken:
    """Read a file to its end."""
    source = sources.make(spec, VirtualClock(5_000_000_000, NOW_US))
    taken = Taken(source.start(first_index))
    with pytest.raises(EndedError) as ended:
        read_on(source, taken)
    assert f"after {taken.end_index - first_index} samples" in str(ended.value)
    return taken


def read_on(source: Source, taken: Taken) -> NoReturn:
    """Read until it raises."""
    while True:
        taken.add(source.read(0.2))


def csv_of(tmp_path: Path, text: str) -> Table:
    """Return the table of a file with this text and a thousand samples a second."""
    (tmp_path / "rig.csv").write_bytes(text.encode())
    chosen = {"channels": ["shunt_v", "supply_v"], "units": ["mV", "V"]}
    return {"kind": "file", "place": f"{tmp_path}/rig.csv", "rate": 1000} | chosen


def test_columns_are_taken_by_name_in_the_order_they_are_named(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, '"supply_v", note ,shunt_v\r\n20.0,7,0.1\r\n20.1,8,0.2\r\n')
    check_source(sources.make(spec, clock := VirtualClock()), clock)
    taken = import_all(spec)
    assert taken.column(0).tolist() == [0.1, 0.2]
    assert taken.column(1).tolist() == [20.0, 20.1]
    assert taken.pairs[-1].monotonic_us - taken.began.monotonic_us == 2000


def test_a_jump_of_the_time_is_a_gap_and_jitter_is_none(tmp_path: Path) -> None:
    times = [0.0, 0.0013, 0.0018, 0.0032, 0.010, 0.011]
    rows = "".join(f"{100 + time},{number},20\n" for number, time in enumerate(times))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + rows) | {"time": "t"}, first_index=50)
    assert taken.gaps == [Gap(54, 60, Reason.STALL)]
    assert taken.column(0).tolist() == [0, 1, 2, 3, 4, 5]
    assert taken.pairs[-1].index == 62


@pytest.mark.parametrize(
    ("true_hz", "bound", "most"), [(900.0, "ROWS", 50), (1100.0, "ROWS", 50), (900.0, "CHUNK", 700)]
)
def test_a_files_clock_that_is_off_loses_nothing_and_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, true_hz: float, bound: str, most: int
) -> None:
    # Given chunks of times that drift by some periods from the nominal thousand a second
    monkeypatch.setattr(columns, bound, most)
    rows = 300
    text = "".join(f"{number / true_hz:.6f},{number},20\n" for number in range(rows))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + text) | {"time": "t"}, first_index=50)
    assert len(taken.blocks) > 4
    assert taken.gaps == []
    assert taken.column(0).tolist() == list(range(rows))
    last = taken.pairs[-1]
    assert last.index == 50 + rows
    assert last.monotonic_us - taken.began.monotonic_us == pytest.approx((rows - 1) / true_hz * 1e6 + 1000, abs=2)


def test_a_malformed_line_is_a_lost_sample(tmp_path: Path) -> None:
    taken = import_all(csv_of(tmp_path, "shunt_v,supply_v\n1,2\noops\n3,4\n"))
    assert taken.gaps == [Gap(1, 2, Reason.INVALID)]
    assert taken.column(0).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("option", "places", "line"),
    [
        ("time", (0, 2, 1), 4),
        ("time", (0, 1, "nan"), 4),
        ("time", (0, "inf", 5), 3),
        ("time", (0, 1, 1e300), 4),
        ("time", (0, "oops", 2, 1), 5),
        ("index", (0, 1, 1), 4),
    ],
)
def test_a_row_out_of_order_is_refused_with_its_line(
    tmp_path: Path, option: str, places: tuple[object, ...], line: int
) -> None:
    rows = "".join(f"{place},1,2\n" for place in places)
    with pytest.raises(FinalError, match=rf"rig\.csv:{line}: the {option} does not follow that of the row above"):
        import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + rows) | {option: "t"})


def ticks(true_hz: float, rows: int) -> list[float]:
    """Return when rows were sampled, by a clock of whole milliseconds."""
    return [math.floor(number * 1000 / true_hz) / 1000 for number in range(rows)]


def bursts(true_hz: float, rows: int) -> list[float]:
    """Return when rows arrived by USB: 64 at a time, with some jitter."""
    return [number // 64 * 64 / true_hz + (0.001 if number // 64 % 2 else 0) for number in range(rows)]


@pytest.mark.parametrize("true_hz", [1100.0, 1500.0, 2500.0, 10_000.0, 20_000.0])
@pytest.mark.parametrize("times_of", [ticks, bursts])
def test_rows_of_one_time_are_samples_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, true_hz: float, times_of: Callable[[float, int], list[float]]
) -> None:
    # Given chunks that end between rows of one time
    monkeypatch.setattr(columns, "ROWS", 50)
    times = times_of(true_hz, 3000)
    text = "t,shunt_v,supply_v\n" + "".join(f"{time:.6f},{number},20\n" for number, time in enumerate(times))
    taken = import_all(csv_of(tmp_path, text) | {"rate": true_hz, "time": "t"})
    assert taken.gaps == []
    assert taken.column(0).tolist() == list(range(3000))
    # Then no time is earlier than its sample, nor later by more than the clock's resolution
    coarse = 1e-3 if times_of is ticks else 64 / true_hz + 1e-3
    for pair in taken.pairs:
        late_s = (pair.monotonic_us - taken.began.monotonic_us) / 1e6 - pair.index / true_hz
        assert -1e-3 - 2e-6 <= late_s <= coarse + 2e-6


@pytest.mark.parametrize("chunk", [35, 1 << 15])
def test_a_time_that_is_only_late_is_no_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    # Given a row each millisecond; row 20 is 0.8 ms late, rows 40 to 49 come late and at once, and after row 60 five
    # samples are missing; the file's clock is 300 ppm off, and chunks end anywhere
    monkeypatch.setattr(columns, "ROWS", chunk)
    times = [float(number + 5 * (number > 60)) for number in range(200)]
    times[20] += 0.8
    times[40:50] = [49 + 0.01 * number for number in range(10)]
    text = "".join(f"{time * 1.0003e-3:.8f},{number},20\n" for number, time in enumerate(times))
    taken = import_all(csv_of(tmp_path, "t,shunt_v,supply_v\n" + text) | {"time": "t"})
    # Then only these five are lost
    assert taken.gaps == [Gap(61, 66, Reason.STALL)]
    assert taken.column(0).tolist() == list(range(200))


def test_unreadable_rows_are_told_by_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "ROWS", 25)
    rows = ["1,2"] * 100
    for line in (0, 30, 31, 70, 80, 98, 99):
        rows[line] = f"oops {line}"
    source = sources.make(csv_of(tmp_path, "shunt_v,supply_v\n" + "\n".join(rows)), VirtualClock())
    with pytest.raises(EndedError):
        read_on(source, Taken(source.start(0)))
    assert sources.notes_of(source) == (
        "rig.csv:2: cannot be read as a row of 2 columns: 'oops 0'",
        "rig.csv:32: cannot be read as a row of 2 columns: 'oops 30'",
        "rig.csv:33: cannot be read as a row of 2 columns: 'oops 31'",
        "rig.csv:72: cannot be read as a row of 2 columns: 'oops 70'",
        "rig.csv:82: cannot be read as a row of 2 columns: 'oops 80'",
        "rig.csv: 2 more rows cannot be read",
    )


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


def test_a_file_that_is_not_there_a_folder_or_no_text_is_told(tmp_path: Path) -> None:
    with pytest.raises(FinalError, match="a line is longer than 65536 bytes"):
        import_all(csv_of(tmp_path, "shunt_v,supply_v\n" + "9" * 70_000) | {"delimiter": ","})
    with pytest.raises(SourceError, match=r"nowhere\.csv: No such file"):
        sources.make({"kind": "file", "place": f"{tmp_path}/nowhere.csv", "channels": ["a", "b"]})
    with pytest.raises(SourceError, match="Is a directory"):
        sources.make({"kind": "file", "place": str(tmp_path), "channels": ["a", "b"]})


def test_a_file_that_says_when_it_was_begun_has_that_time(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, "shunt_v,supply_v\n1,2\n") | {"started": "2026-11-30T01:06:00+01:00"}
    began = import_all(spec).began
    instant = int(datetime(2026, 11, 30, 0, 6, tzinfo=UTC).timestamp() * 1_000_000)
    assert (began.realtime_us, began.monotonic_us) == (instant, 5_000_000_000 + instant - NOW_US)


def test_a_file_older_than_the_boot_has_a_clock_of_its_own_and_one_without_dates_ends_now(tmp_path: Path) -> None:
    spec = csv_of(tmp_path, "t,shunt_v,supply_v\n2025-01-01T00:00:00Z,1,2\n")
    source = sources.make(spec, VirtualClock())
    began = source.start(0)
    assert began.realtime_us == began.monotonic_us == 1_735_689_600_000_000
    assert vars(source)["clock"].startswith("monotonic:")
    assert import_all(spec | {"started": "now"}).began.monotonic_us == 5_000_000_000 - 1000


TWO = Shape(2, (0, 1))


BAD = b'1|1,2,3|1;2|1,two|1,|,||"1,2|1,0x10|1,1_0|\x00,1|\xff\xfe,1|1,2 V'


@pytest.mark.parametrize("line", BAD.split(b"|"))
def test_a_bad_line_is_found_between_good_ones(line: bytes) -> None:
    before, bad, after = tables(b"1,2\n3,4\n" + line + b"\n5,6\n", TWO)
    assert isinstance(bad, Bad)
    assert bad.place == 2
    assert not isinstance(before, Bad)
    assert not isinstance(after, Bad)
    assert [column.tolist() for column in before] == [[1, 3], [2, 4]]
    assert [column.tolist() for column in after] == [[5], [6]]


@given(st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line and b"\r" not in line), max_size=20))
def test_every_line_is_a_row_or_a_bad_line(lines: list[bytes]) -> None:
    found = tables(b"".join(line + b"\n" for line in lines), TWO)
    assert sum(1 if isinstance(one, Bad) else len(one[0]) for one in found) == len(lines)
