# SPDX-License-Identifier: GPL-2.0-or-later
"""show, export, status and sources describe a trace correctly."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import fastparquet
import numpy as np
import pyfive
import pytest
import pyxdf

import power_traces
from happe_contract.traces import Gap, Reason
from happe_power import plot, sources
from happe_power.recording import closing
from happe_power.trace import Trace
from power_program import happe_power
from power_traces import Given

PARTS = 4
HIGH_W, LOW_W = 2.0 * 19.5, 1.5 * 19.5
UNITS = {"index": "1", "seconds": "s", "shunt_V": "V", "supply_V": "V", "watts": "W"}


@pytest.fixture
def given(tmp_path: Path) -> Given:
    """A trace of four seconds at 1 kHz: 1.5 A and 2 A by turns at 19.5 V; the third lacks its last tenth."""
    given = power_traces.begin(tmp_path / "state/spool")
    for number in range(PARTS):
        given.add(number, rows=900 if number == 2 else None)
    closing.write_gaps(given, [Gap(2900, 3000, Reason.OVERFLOW)])
    given.end()
    (tmp_path / "p.toml").write_text('state = "state"\n')
    return given


@pytest.fixture
def config(given: Given) -> Path:
    """Write the configuration of the host that has the trace."""
    return given.folder.parents[3] / "p.toml"


@pytest.mark.parametrize("points", [40, 400, 4000])
def test_a_curve_has_the_watts_of_the_calibration_and_breaks_at_gaps(given: Given, points: int) -> None:
    curve = plot.curve(Trace.open(given.folder), 0, 4000, points)
    assert (curve.name, curve.unit, curve.notes, len(curve.seconds)) == ("watts", "W", (), points)
    second, here = (curve.seconds // 1).astype(int), np.isfinite(curve.mean)
    assert curve.mean[here & (second % 2 == 0)] == pytest.approx(LOW_W, abs=1.0)
    assert curve.mean[here & (second % 2 == 1)] == pytest.approx(HIGH_W, abs=1.0)
    assert np.all((curve.lowest <= curve.mean + 1e-9)[here] & (curve.mean - 1e-9 <= curve.highest)[here])
    assert [pytest.approx(gap) for gap in curve.gaps] == [(2.9, 3.0)]
    assert not np.any((curve.seconds[here] > 2.9) & (curve.seconds[here] < 3.0))


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
    curve = plot.curve(Trace.open(given.folder), 0, 2000)
    assert note in "; ".join(curve.notes)
    assert curve.unit == ("V" if record is None else "W")


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
    rows = list(csv.DictReader(io.StringIO(exported(config, given, tmp_path / "x.csv").read_text())))
    assert list(rows[0]) == list(UNITS)
    assert [int(row["index"]) for row in rows] == [*range(2900), *range(3000, 4000)]
    assert np.array([float(row["shunt_V"]) for row in rows]) == pytest.approx(values_of(given)["shunt_V"])
    shunt, supply = (float(rows[10][name]) for name in ("shunt_V", "supply_V"))
    assert float(rows[10]["watts"]) == pytest.approx(shunt / 0.1 * (3 * supply - shunt / 2))
    assert float(rows[-1]["seconds"]) == pytest.approx(3.999)
    ran = happe_power("--config", config, "export", given.id, "-", "--raw", "--from", "1s", "--to", "1.003")
    counts = list(csv.reader(io.StringIO(ran.out)))
    assert counts[0] == ["index", "seconds", "shunt", "supply"]
    assert [row[0] for row in counts[1:]] == ["1000", "1001", "1002"]
    assert counts[1][2].isdigit()


def test_npz_has_columns_gaps_and_header(config: Path, given: Given, tmp_path: Path) -> None:
    with np.load(exported(config, given, tmp_path / "x.npz", "--raw")) as read:
        assert set(read) == {"index", "seconds", "shunt", "supply", "gaps", "header"}
        assert read["shunt"].dtype == np.int16
        assert np.array_equal(read["shunt"] * power_traces.SHUNT.scale, values_of(given)["shunt_V"])
        assert len(read["index"]) == len(read["seconds"]) == 3900
        assert read["gaps"].tolist() == [[2900, 3000]]
        assert json.loads(str(read["header"]))["id"] == given.id


def exported(config: Path, given: Given, file: Path, *options: str) -> Path:
    """Export a trace into a file."""
    ran = happe_power("--config", config, "export", given.id, file, *options)
    assert ran.status == 0, ran.err
    return file


def values_of(given: Given) -> dict[str, np.ndarray[Any, Any]]:
    """Return the trace's values in volts."""
    blocks = list(Trace.open(given.folder).blocks())
    index = np.concatenate([np.arange(block.first_index, block.end_index) for block in blocks])
    columns = {f"{c.name}_V": (at, c.scale) for at, c in enumerate(power_traces.CHANNELS)}
    volts = {name: np.concatenate([b.columns[at] for b in blocks]) * scale for name, (at, scale) in columns.items()}
    return {"index": index, "seconds": index / 1000} | volts


def test_other_libraries_read_parquet_hdf5_and_xdf_with_units_gaps_and_the_record(
    config: Path, given: Given, tmp_path: Path
) -> None:
    wanted = values_of(given)
    parquet = fastparquet.ParquetFile(io.BytesIO(exported(config, given, tmp_path / "x.parquet").read_bytes()))
    frame, facts = parquet.to_pandas(), parquet.key_value_metadata
    assert json.loads(facts["units"]) == UNITS
    assert json.loads(facts["happe"])["calibration"]["name"]
    assert json.loads(facts["gaps"]) == [[2900, 3000, "overflow"]]
    with pyfive.File(exported(config, given, tmp_path / "x.h5")) as hdf5:
        assert {name: hdf5[name].attrs["unit"].decode() for name in hdf5} == UNITS
        assert json.loads(hdf5.attrs["happe"])["id"] == given.id
        for name, values in wanted.items():
            assert frame[name].to_numpy() == pytest.approx(values)
            assert hdf5[name][:] == pytest.approx(values)
    [stream], _ = pyxdf.load_xdf(exported(config, given, tmp_path / "x.xdf"), dejitter_timestamps=False)
    info, described = stream["info"], stream["info"]["desc"][0]
    channels = [(each["label"][0], each["unit"][0]) for each in described["channels"][0]["channel"]]
    assert channels == [("shunt_V", "V"), ("supply_V", "V"), ("watts", "W")]
    assert stream["time_series"][:, 0] == pytest.approx(wanted["shunt_V"])
    assert stream["time_stamps"] - given.started.monotonic_us / 1e6 == pytest.approx(wanted["seconds"], abs=1e-6)
    assert (info["nominal_srate"], info["source_id"]) == (["1000.0"], [given.id])
    assert json.loads(described["happe"][0])["id"] == given.id
    assert stream["footer"]["info"]["sample_count"] == ["3900"]


def test_the_name_of_an_export_says_its_format_or_the_option_does(config: Path, given: Given, tmp_path: Path) -> None:
    ran = happe_power("--config", config, "export", given.id, tmp_path / "x.hdf")
    assert (ran.status, list(tmp_path.glob("x.*"))) == (os.EX_USAGE, [])
    assert ".hdf is not a format of `happe-power export`; there are .csv, .npz, .parquet, .h5, .xdf, and" in ran.err
    for name, *option in (("x.txt", "--format", "csv"), ("x",), ("x.CSV",)):
        file = exported(config, given, tmp_path / name, "--to", "0.01", *option)
        assert file.read_text()[:6] == "index,"


@pytest.mark.parametrize("name", ["x.csv", "x.npz", "x.parquet", "x.h5", "x.xdf"])
def test_an_export_writes_over_nothing_and_leaves_nothing_half_done(
    config: Path, given: Given, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "out" / name
    file.parent.mkdir()
    file.write_text("mine")
    ran = happe_power("--config", config, "export", given.id, file)
    assert (ran.status, file.read_text()) == (os.EX_CANTCREAT, "mine")
    ran = happe_power("--config", config, "export", given.id, tmp_path / "none" / name)
    assert (ran.status, f"{tmp_path / 'none'}: No such file" in ran.err) == (os.EX_NOINPUT, True)
    given.part(3).write_bytes(b"PAR1 broken PAR1")
    ran = happe_power("--config", config, "export", given.id, file.with_stem("y"))
    assert ran.status == os.EX_DATAERR
    assert "000003.parquet" in ran.err
    assert [path.name for path in file.parent.iterdir()] == [name]


@pytest.mark.parametrize("times", [("--from", "9"), ("--from", "2", "--to", "1")])
def test_a_range_with_nothing_in_it_is_told(config: Path, given: Given, times: tuple[str, str]) -> None:
    ran = happe_power("--config", config, "export", given.id, "-", *times)
    assert ran.status == os.EX_DATAERR
    assert "it is 4.000 s long" in ran.err


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
    assert "No trace yet" in happe_power("status", "--spool", given.folder / "none").out


def test_sources_are_listed_with_what_is_missing_and_each_command_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = happe_power("sources", "--json").json()
    assert {each["kind"] for each in found} >= {"comedi", "nidaqmx", "powercap", "power_supply", "sim"}
    assert all(each["says"] for each in found)
    text = happe_power("sources").out
    assert "sim" in text
    assert text.endswith("Tested with real instruments: none of these kinds yet.\n")
    assert "rate" in happe_power("sources", "--options").out
    lacking = "libcomedi.so.0 is not installed; `apt-get install libcomedi0`"
    twice = [sources.Found(kind, None, lacking, "apt-get install libcomedi0") for kind in ("comedi", "other")]
    monkeypatch.setattr(sources, "found", lambda: twice)
    text = happe_power("sources").out
    assert text.count("apt-get install libcomedi0") == 1
    assert text.count("libcomedi.so.0 is not installed") == 2
