# SPDX-License-Identifier: GPL-2.0-or-later
"""show, export, status and sources describe a trace correctly."""

from __future__ import annotations

import csv
import io
import json
import os
from typing import TYPE_CHECKING, Any

import fastparquet
import numpy as np
import pyfive
import pytest
import pyxdf

import power_traces
from happe_contract.traces import Gap, Reason
from happe_power import sources
from happe_power.recording import closing
from happe_power.trace import Trace
from happe_power.viewing import curves, pictures
from happe_power.viewing.stretch import axis, between
from power_program import happe_power

if TYPE_CHECKING:
    from pathlib import Path

    from power_traces import Given

PARTS = 4
HIGH_W, LOW_W = 2.0 * 19.5, 1.5 * 19.5


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """A trace of four seconds at 1 kHz: 1.5 A and 2 A by turns at 19.5 V; the third lacks its last tenth."""
    given = power_traces.begin(tmp_path / "state/spool")
    for number in range(PARTS):
        given.add(number, rows=900 if number == 2 else None)
    closing.write_gaps(given.layout, [Gap(2900, 3000, Reason.OVERFLOW)])
    given.end()
    (tmp_path / "p.toml").write_text('state = "state"\n')
    return given


@pytest.fixture
def config(given: Given) -> Path:
    """Write the configuration of the host that has the trace."""
    return given.folder.parents[3] / "p.toml"


def test_a_curve_has_the_watts_of_the_calibration_and_knows_its_gaps(given: Given) -> None:
    curve = curves.curve(Trace.open(given.folder), None, 0, 4000, points=400)
    assert (curve.name, curve.unit, curve.notes) == ("watts", "W", ())
    second = (curve.seconds // 1).astype(int)
    assert curve.mean[second % 2 == 0] == pytest.approx(LOW_W, abs=1.0)
    assert curve.mean[second % 2 == 1] == pytest.approx(HIGH_W, abs=1.0)
    # And its caption has the effect on the mean of shunt and divider, a thousandth each, and of half the shunt's drop
    mean_w = (LOW_W + HIGH_W) / 2
    expanded = 2 * np.hypot(mean_w * 1e-3 * 2**0.5, 0.5 * (0.15**2 + 0.2**2) / 2 / 0.1)
    known = f"+- {expanded:.2g} W (k = 2) of "
    assert curve.caption.startswith(f"line: mean; band: lowest to highest sample; calibration bench 1: {known}")
    assert float(curve.caption.partition(known)[2].split()[0]) == pytest.approx(mean_w, rel=0.02)
    assert np.all(curve.lowest <= curve.mean)
    assert np.all(curve.mean <= curve.highest)
    ((begin_s, end_s, reason),) = curve.gaps
    assert (begin_s, end_s) == pytest.approx((2.9, 3.0))
    assert reason == "overflow"
    assert not np.any((curve.seconds > 2.9) & (curve.seconds < 3.0))
    assert [int(np.isnan(each).sum()) for each in pictures.broken(curve)] == [1, 1, 1, 1]


@pytest.mark.parametrize("points", [4, 40, 400, 4000])
def test_bins_of_every_width_have_the_same_mean_and_extremes(given: Given, points: int) -> None:
    trace = Trace.open(given.folder)
    raw = np.concatenate([block.columns[0] for block in trace.blocks()]) * power_traces.SHUNT.scale
    curve = curves.curve(trace, "shunt", 0, 4000, points=points)
    assert len(curve.seconds) <= points
    assert curve.lowest.min() == pytest.approx(raw.min(), rel=1e-12)
    assert curve.highest.max() == pytest.approx(raw.max(), rel=1e-12)
    assert abs(curve.mean.mean() - raw.mean()) < 0.02


def test_a_trace_whose_parts_went_to_the_server_is_still_drawn(given: Given) -> None:
    for path in given.folder.glob("parts/*"):
        path.unlink()
    (given.folder / "seal.json").write_text("{}")
    assert len(curves.curve(Trace.open(given.folder), None, 0, 4000, points=100).seconds) > 30


@pytest.mark.parametrize(
    ("record", "note"),
    [
        (None, "no watts: no measured resistance of the shunt"),
        (power_traces.CALIBRATION | {"date": "2020-01-01", "expires": "2021-01-01"}, "EXPIRED on 2021-01-01"),
        (power_traces.CALIBRATION | {"date": "2090-01-01"}, "AFTER the measurement"),
    ],
)
def test_a_missing_or_expired_calibration_is_said(tmp_path: Path, record: dict[str, Any] | None, note: str) -> None:
    given = power_traces.ended(tmp_path, 2, calibration=record)
    curve = curves.curve(Trace.open(given.folder), None, 0, 2000)
    assert note in "; ".join(curve.notes)
    assert curve.unit == ("V" if record is None else "W")


def test_a_channel_that_is_not_there_is_told_with_those_that_are(config: Path, given: Given) -> None:
    ran = happe_power("--config", config, "show", given.id, "x.png", "--channel", "currant")
    assert (ran.status, ran.out) == (os.EX_DATAERR, "")
    assert "no channel currant; there are shunt, supply, watts" in ran.err


@pytest.mark.parametrize(("name", "begin"), [("x.png", b"\x89PNG"), ("x.svg", b"<?xml")])
def test_a_picture_is_written_once(config: Path, given: Given, tmp_path: Path, name: str, begin: bytes) -> None:
    file = tmp_path / name
    arguments = ("--config", config, "show", given.id[:8], file)
    assert happe_power(*arguments).status == 0
    raw = file.read_bytes()
    assert raw.startswith(begin)
    assert happe_power(*arguments).status == os.EX_CANTCREAT
    assert file.read_bytes() == raw
    assert happe_power(*arguments[:-1], tmp_path / "x.gif").status == os.EX_USAGE


def test_csv_has_every_sample_that_was_kept(config: Path, given: Given, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    assert happe_power("--config", config, "export", given.id, file).status == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert list(rows[0]) == ["index", "seconds", "shunt_V", "supply_V", "watts"]
    assert [int(row["index"]) for row in rows] == [*range(2900), *range(3000, 4000)]
    column = np.concatenate([block.columns[0] for block in Trace.open(given.folder).blocks()])
    assert np.array([float(row["shunt_V"]) for row in rows]) == pytest.approx(column * power_traces.SHUNT.scale)
    assert float(rows[10]["watts"]) == pytest.approx(
        float(rows[10]["shunt_V"]) / 0.1 * (3 * float(rows[10]["supply_V"]) - float(rows[10]["shunt_V"]) / 2)
    )
    assert float(rows[-1]["seconds"]) == pytest.approx(3.999)


def test_a_range_of_raw_counts_goes_to_standard_output(config: Path, given: Given) -> None:
    ran = happe_power("--config", config, "export", given.id, "-", "--raw", "--from", "1s", "--to", "1.003")
    rows = list(csv.reader(io.StringIO(ran.out)))
    assert rows[0] == ["index", "seconds", "shunt", "supply"]
    assert [row[0] for row in rows[1:]] == ["1000", "1001", "1002"]
    assert rows[1][2].isdigit()


def test_npz_has_columns_gaps_and_header(config: Path, given: Given, tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    assert happe_power("--config", config, "export", given.id, file, "--raw").status == 0
    with np.load(file) as read:
        assert set(read) == {"index", "seconds", "shunt", "supply", "gaps", "header"}
        assert read["shunt"].dtype == np.int16
        stored = np.concatenate([block.columns[0] for block in Trace.open(given.folder).blocks()])
        assert np.array_equal(read["shunt"], stored)
        assert len(read["index"]) == len(read["seconds"]) == 3900
        assert read["gaps"].tolist() == [[2900, 3000]]
        assert json.loads(str(read["header"]))["id"] == given.id


def exported(config: Path, given: Given, file: Path) -> Path:
    """Export a trace into a file."""
    ran = happe_power("--config", config, "export", given.id, file)
    assert ran.status == 0, ran.err
    return file


def values_of(given: Given) -> dict[str, np.ndarray[Any, Any]]:
    """Return the trace's values in volts."""
    blocks = list(Trace.open(given.folder).blocks())
    index = np.concatenate([np.arange(block.first_index, block.end_index) for block in blocks])
    columns = {f"{c.name}_V": (at, c.scale) for at, c in enumerate(power_traces.CHANNELS)}
    volts = {name: np.concatenate([b.columns[at] for b in blocks]) * scale for name, (at, scale) in columns.items()}
    return {"index": index, "seconds": index / 1000} | volts


UNITS = {"index": "1", "seconds": "s", "shunt_V": "V", "supply_V": "V", "watts": "W"}


def test_fastparquet_reads_what_pyarrow_wrote_with_units_and_the_record(
    config: Path, given: Given, tmp_path: Path
) -> None:
    read = fastparquet.ParquetFile(io.BytesIO(exported(config, given, tmp_path / "x.parquet").read_bytes()))
    frame = read.to_pandas()
    assert list(frame) == list(UNITS)
    for name, values in values_of(given).items():
        assert frame[name].to_numpy() == pytest.approx(values)
    assert json.loads(read.key_value_metadata["units"]) == UNITS
    assert json.loads(read.key_value_metadata["happe"])["calibration"]["name"]
    assert json.loads(read.key_value_metadata["gaps"]) == [[2900, 3000, "overflow"]]


def test_pyfive_reads_what_libhdf5_wrote_with_units_and_the_record(config: Path, given: Given, tmp_path: Path) -> None:
    with pyfive.File(exported(config, given, tmp_path / "x.h5")) as read:
        assert {name: read[name].attrs["unit"].decode() for name in read} == UNITS
        for name, values in values_of(given).items():
            assert read[name][:] == pytest.approx(values)
        assert json.loads(read.attrs["happe"])["id"] == given.id
        assert json.loads(read.attrs["gaps"]) == [[2900, 3000, "overflow"]]


def test_pyxdf_reads_the_channels_at_their_times_with_units_and_the_record(
    config: Path, given: Given, tmp_path: Path
) -> None:
    [stream], _ = pyxdf.load_xdf(exported(config, given, tmp_path / "x.xdf"), dejitter_timestamps=False)
    wanted, info = values_of(given), stream["info"]
    described = info["desc"][0]
    channels = [(each["label"][0], each["unit"][0]) for each in described["channels"][0]["channel"]]
    assert channels == [("shunt_V", "V"), ("supply_V", "V"), ("watts", "W")]
    assert stream["time_series"][:, 0] == pytest.approx(wanted["shunt_V"])
    assert stream["time_stamps"] - given.started.monotonic_us / 1e6 == pytest.approx(wanted["seconds"], abs=1e-6)
    assert (info["nominal_srate"], info["source_id"]) == (["1000.0"], [given.id])
    assert json.loads(described["happe"][0])["id"] == given.id
    assert stream["footer"]["info"]["sample_count"] == ["3900"]


def test_a_stretch_without_a_sample_makes_no_file(config: Path, given: Given, tmp_path: Path) -> None:
    for form in ("parquet", "h5", "xdf"):
        ran = happe_power("--config", config, "export", given.id, tmp_path / f"x.{form}", "--from", "2.9", "--to", "3")
        assert (ran.status, list(tmp_path.glob("*x.*"))) == (os.EX_DATAERR, [])
        assert "all samples between these times were lost" in ran.err


def test_the_name_of_an_export_says_its_format_or_the_option_does(config: Path, given: Given, tmp_path: Path) -> None:
    ran = happe_power("--config", config, "export", given.id, tmp_path / "x.hdf")
    assert (ran.status, list(tmp_path.glob("x.*"))) == (os.EX_USAGE, [])
    assert (
        "x.hdf: .hdf is not a format of `happe-power export`; there are .csv, .npz, .parquet, .h5, .xdf, and" in ran.err
    )
    for name, *option in (("x.txt", "--format", "csv"), ("x",), ("x.CSV",)):
        done = happe_power("--config", config, "export", given.id, tmp_path / name, "--to", "0.01", *option)
        assert (done.status, (tmp_path / name).read_text()[:6]) == (0, "index,"), done.err


@pytest.mark.parametrize("name", ["x.csv", "x.npz", "x.parquet", "x.h5", "x.xdf"])
def test_an_export_writes_over_nothing_and_leaves_nothing_half_done(
    config: Path, given: Given, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "out" / name
    file.parent.mkdir()
    file.write_text("mine")
    ran = happe_power("--config", config, "export", given.id, file)
    assert (ran.status, file.read_text()) == (os.EX_CANTCREAT, "mine")
    given.layout.part(3).write_bytes(b"PAR1 broken PAR1")
    ran = happe_power("--config", config, "export", given.id, file.with_stem("y"))
    assert ran.status == os.EX_DATAERR
    assert "000003.parquet" in ran.err
    assert [path.name for path in file.parent.iterdir()] == [name]


def test_an_export_into_no_folder_names_that_folder(config: Path, given: Given, tmp_path: Path) -> None:
    ran = happe_power("--config", config, "export", given.id, tmp_path / "none/x.csv")
    assert (ran.status, f"{tmp_path / 'none'}: No such file" in ran.err) == (os.EX_NOINPUT, True)


@pytest.mark.parametrize("times", [("--from", "9"), ("--from", "2", "--to", "1")])
def test_a_range_with_nothing_in_it_is_told(config: Path, given: Given, times: tuple[str, str]) -> None:
    ran = happe_power("--config", config, "export", given.id, "-", *times)
    assert ran.status == os.EX_DATAERR
    assert "it is 4.000 s long" in ran.err


def test_seconds_and_indices_are_each_others_inverse(given: Given) -> None:
    line = axis(Trace.open(given.folder))
    for index in (0, 1, 999, 2950, 3999, 5000):
        assert line.at(float(line.seconds(np.array([index]))[0])) == index
    assert between(Trace.open(given.folder), 1.0, 99.0) == (1000, 4000)


def test_a_trace_is_found_by_the_beginning_of_its_name(config: Path, given: Given) -> None:
    assert happe_power("--config", config, "export", given.id[:6], "-", "--to", "0.01").status == 0
    ran = happe_power("--config", config, "show", "no-such", "x.png")
    assert ran.status == os.EX_NOINPUT
    assert "`happe-power status` lists them" in ran.err


def test_status_tells_what_is_not_sent(config: Path, given: Given) -> None:
    found = happe_power("--config", config, "status", "--json").json()
    assert found["device"] is None
    (trace,) = found["traces"]
    assert (trace["trace"], trace["state"], trace["parts"], trace["to_send"]) == (given.id, "ended", 4, 4)
    (given.folder / "local").touch()
    (trace,) = happe_power("--config", config, "status", "--json").json()["traces"]
    assert (trace["state"], trace["to_send"]) == ("local", 0)
    (given.folder / "local").unlink()
    (given.folder / "stopped.json").write_text('{"reason": "the server has other bytes"}')
    (given.folder.parent / "broken").mkdir()
    (given.folder.parent / "broken/header.json").write_text("{")
    ran = happe_power("--config", config, "status")
    assert ran.status == 0
    assert f"{given.id}: the server has other bytes" in ran.out
    assert "unreadable" in ran.out
    assert "Not enrolled" in ran.out


def test_status_of_an_empty_spool(tmp_path: Path) -> None:
    ran = happe_power("status", "--spool", tmp_path / "none")
    assert (ran.status, ran.err) == (0, "")
    assert "No trace yet" in ran.out


def test_sources_are_listed_with_what_is_missing() -> None:
    found = happe_power("sources", "--json").json()
    assert {each["kind"] for each in found} >= {"comedi", "nidaqmx", "powercap", "power_supply", "sim"}
    assert all(each["says"] for each in found)
    text = happe_power("sources").out
    assert "sim" in text
    for command in filter(None, {each["command"] for each in found}):
        assert text.count(command) == 1, command
    assert text.endswith("Tested with real instruments: none of these kinds yet.\n")
    assert "rate" in happe_power("sources", "--options").out


def test_sources_print_each_command_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given kinds that lack a library, and one of them that names the command: the list has each command once."""
    lacking = [
        sources.Found(
            "comedi",
            None,
            "libcomedi.so.0 is not installed; `apt-get install libcomedi0`",
            "apt-get install libcomedi0",
        ),
        sources.Found("scpi", None, "PyVISA is not installed", "pip install pyvisa"),
        sources.Found(
            "other", None, "libcomedi.so.0 is not installed; `apt-get install libcomedi0`", "apt-get install libcomedi0"
        ),
    ]
    monkeypatch.setattr(sources, "found", lambda: lacking)
    text = happe_power("sources").out
    assert text.count("apt-get install libcomedi0") == 1
    assert text.count("pip install pyvisa") == 1
    assert text.count("libcomedi.so.0 is not installed") == 2
