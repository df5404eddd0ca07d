# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power measures: the power of every run of a study, each from the trace that covers it."""

import csv
import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import power_traces
from given_truths import RECORD, known
from happe_contract.calibration import Calibration, Correction
from happe_contract.measuring import runs
from happe_contract.measuring.refusal import Limits
from happe_contract.measuring.runs import StudyRun
from happe_contract.measuring.zeros import ZeroReading
from happe_contract.schemas import Kind, read
from happe_power import measuring
from happe_power.recording import zero_check
from happe_power.trace import Trace
from in_process import Ran
from power_program import happe_power

SERVER_US = 1_800_000_000_000_000  # when the first trace began, by the server
LATER_US = SERVER_US + 100_000_000
OTHER = "2APT0PAA"
LOW_W, HIGH_W = 1.5 * (19.5 - 0.15), 2 * (19.5 - 0.2)
SHIPPED = dataclasses.replace(RECORD, shunt_ohm=known(0.1, 5e-5), divider=known(3.0, 0.002))
Row = dict[str, Any]


def trace(
    spool: Path,
    began_us: int,
    *,
    laptop: str = power_traces.MEASURED,
    jump_us: int = 0,
    shipped: Calibration = SHIPPED,
) -> Path:
    """Make a trace of six seconds, 1.5 A and 2.0 A by turns, that begins at this time of the server.

    `jump_us`: the error of the second of its clock estimates.
    """
    given = power_traces.ended(spool, 6, calibration=shipped.to_header(), codes=(power_traces.METER, laptop))
    given.compare_clocks(began_us, jump_us)
    return given.folder


def row(run: str, begin_us: int, seconds: float, *, laptop: str = power_traces.MEASURED, **more: object) -> Row:
    """Return a run as in an export."""
    ended_us = begin_us + round(seconds * 1e6)
    return {"run": run, "state": "complete", "laptop": laptop, "started_us": begin_us, "ended_us": ended_us, **more}


RUNS = [
    row("RANK0001", SERVER_US + 1_000_000, 1),
    row("RANK0002", LATER_US + 2_000_000, 3),
    row("RANK0003", SERVER_US + 4_000_000, 4),  # ends after its trace
    row("RANK0004", SERVER_US + 50_000_000, 2),  # between the traces
    row("RANK0005", SERVER_US + 1_000_000, 1, laptop=OTHER),
    row("RANK0006", SERVER_US + 1_000_000, 1, laptop="3APT0PAA"),
    row("RANK0007", SERVER_US + 1_000_000, 1, state="aborted", ended_us=None),
]


def written(path: Path, rows: list[Row]) -> Path:
    """A table of runs, in the format of its name."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three traces: two of one laptop, and one of another whose clock somebody set meanwhile."""
    folder = tmp_path_factory.mktemp("traces")
    trace(folder, SERVER_US)
    trace(folder, LATER_US)
    trace(folder, SERVER_US, laptop=OTHER, jump_us=2_000_000)
    return folder


def measures(traces: Path, runs: Path, *more: str | Path) -> tuple[Ran, dict[str, Row]]:
    """Run the command. Return how it ended, and the measures by run."""
    out = runs.with_name("measures.json")
    out.unlink(missing_ok=True)
    ran = happe_power("measures", runs, "--trace", traces, "--out", out, *more)
    document = read(Kind.POWER_MEASURES, out.read_bytes()) if out.exists() else {"measures": []}
    return ran, {each["run"]: each for each in document["measures"]}


@pytest.mark.parametrize("name", ["runs.csv", "runs.jsonl", "runs.parquet"])
def test_each_run_is_cut_from_the_trace_of_its_laptop_that_has_it(traces: Path, tmp_path: Path, name: str) -> None:
    ran, made = measures(traces, written(tmp_path / name, RUNS), "--json")
    assert (ran.status, list(made)) == (1, [f"RANK000{n}" for n in range(1, 7)])
    # Then a figure equals that of `measure` for the same interval, and so do its seconds
    first, second = made["RANK0001"], made["RANK0002"]
    times = [str(first[name]) for name in ("from_us", "to_us")]
    folder = traces / power_traces.STUDY / first["trace"]
    said = happe_power("measure", folder, "--from", times[0], "--to", times[1], "--json").json()
    assert {name: first[name] for name in ("mean_w", "expanded_uncertainty", "k", "coverage", "calibration")} == {
        name: said[name] for name in ("mean_w", "expanded_uncertainty", "k", "coverage", "calibration")
    }
    assert first["clock_bound_us"] == round(max(said["clock_bound_us"]))
    assert first["seconds_w"] == pytest.approx([HIGH_W], rel=2e-3)
    assert second["trace"] != first["trace"]
    assert second["seconds_w"] == pytest.approx([LOW_W, HIGH_W, LOW_W], rel=2e-3)
    assert (second["laptop"], second["meter"]) == (power_traces.MEASURED, power_traces.METER)
    # And a run without a figure says why
    assert made["RANK0003"]["refused"].startswith("coverage: 50.00 % of the interval has samples")
    assert made["RANK0004"]["refused"] == (
        f"no-samples: no trace of laptop {power_traces.MEASURED} was recorded meanwhile"
    )
    assert "2000.0 ms apart: a clock was set between them" in made["RANK0005"]["refused"]
    assert made["RANK0006"]["refused"] == "no-samples: no trace of laptop 3APT0PAA was given"
    assert [each["run"] for each in ran.json()["refused"]] == [f"RANK000{n}" for n in (3, 4, 5, 6)]
    assert ran.json()["calibrations"] == [{"says": first["calibration"]["says"], "runs": 2}]


def test_a_run_is_cut_by_its_record_where_the_export_has_it(traces: Path, tmp_path: Path) -> None:
    runs = written(tmp_path / "crossover-runs.csv", [RUNS[0], RUNS[1]])  # a second of 2.0 A, and three from 1.5 A on
    boot, behind_us = "monotonic:0b9bd7ac", SERVER_US - 5_000_000_000
    at_us = RUNS[1]["started_us"] - behind_us + 1_000_000  # the countdown took a second
    record = {"run": "RANK0002", "clock": boot, "started_us": at_us, "ended_us": at_us + 1_000_000}
    written(tmp_path / "crossover-records.csv", [record])
    estimate = {"device": power_traces.MEASURED, "clock": boot, "device_us": at_us, "offset_us": behind_us}
    written(tmp_path / "crossover-clocks.csv", [estimate | {"uncertainty_us": 700}])
    _, made = measures(traces, runs)
    first, second = made["RANK0001"], made["RANK0002"]
    assert (first["from_us"], first["to_us"]) == (RUNS[0]["started_us"], RUNS[0]["ended_us"])  # it has no record
    assert second["from_us"] == RUNS[1]["started_us"] + 1_000_000
    assert second["seconds_w"] == pytest.approx([HIGH_W], rel=2e-3)
    assert second["clock_bound_us"] == pytest.approx(first["clock_bound_us"] + 700 + 500, abs=3)  # 500 ppm of a second
    written(tmp_path / "crossover-clocks.csv", [estimate | {"uncertainty_us": "?"}])
    (tmp_path / "measures.json").unlink()
    ran, _ = measures(traces, runs)
    assert "crossover-clocks.csv: cannot be read as the table `clocks` of" in ran.err


def test_an_export_without_a_record_or_a_clock_has_empty_tables_of_them(traces: Path, tmp_path: Path) -> None:
    runs = written(tmp_path / "a-runs.jsonl", [RUNS[0]])
    for name in ("a-records.jsonl", "a-clocks.jsonl"):
        written(tmp_path / name, [])
    _, made = measures(traces, runs)
    assert made["RANK0001"]["to_us"] == RUNS[0]["ended_us"]


def test_traces_are_named_by_their_folders_and_every_run_measured_is_status_0(traces: Path, tmp_path: Path) -> None:
    runs, out = written(tmp_path / "runs.csv", RUNS[:1]), tmp_path / "measures.json"
    mine = [each for each in traces.glob("*/*") if Trace.open(each).header["measured"] == power_traces.MEASURED]
    named = [part for folder in mine for part in ("--trace", str(folder))]
    ran = happe_power("measures", runs, *named, "--out", out)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[0] == f"{out}: 1 of 1 runs measured"
    assert ran.out.splitlines()[1].startswith("note  1 by calibration rig of ")
    before = out.read_bytes()
    again = happe_power("measures", runs, *named, "--out", out)
    assert (again.status, "exists already" in again.err, out.read_bytes()) == (73, True, before)


def test_what_can_be_no_machine_s_power_is_refused_and_the_others_are_measured(tmp_path: Path) -> None:
    correction = Correction(known(1, 1e-4), known(-1, 1e-4))  # negative power, as from a shunt with swapped wires
    wrong = {
        "3APT0PAA": (dataclasses.replace(SHIPPED, channels={"shunt": correction}), "the mean is -"),
        "4APT0PAA": (dataclasses.replace(SHIPPED, shunt_ohm=known(1e-5, 1e-9)), "the mean is 338"),
        "5APT0PAA": (dataclasses.replace(SHIPPED, shunt_ohm=known(0.1, 1e3)), "the mean is uncertain by "),
    }
    trace(tmp_path / "traces", SERVER_US)
    for laptop, (record, _) in wrong.items():
        trace(tmp_path / "traces", SERVER_US, laptop=laptop, shipped=record)
    runs = [row(f"RANK000{n}", SERVER_US + 1_000_000, 2, laptop=laptop) for n, laptop in enumerate(wrong, start=1)]
    ran, made = measures(tmp_path / "traces", written(tmp_path / "runs.csv", [RUNS[0] | {"run": "RANK0009"}, *runs]))
    assert (ran.status, ran.err) == (1, "")
    assert made["RANK0009"]["mean_w"] == pytest.approx(HIGH_W, rel=2e-3)
    for run, (_, said) in zip(runs, wrong.values(), strict=True):
        assert made[run["run"]]["refused"].startswith(f"no-power: {said}")
        assert "look at the shunt's polarity, its zero and the calibration record" in made[run["run"]]["refused"]


def test_a_run_with_a_second_that_no_machine_takes_is_refused(traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a limit of 35 W for any machine, and a mean of 34 W with seconds of 29 W and 39 W
    monkeypatch.setattr(runs, "MOST_W", 35.0)
    run = StudyRun("RANK0001", power_traces.MEASURED, SERVER_US + 1_000_000, SERVER_US + 3_000_000)
    covered = measuring.opened(traces.glob("*/*"), {})
    (found,) = measuring.measured([run], covered, Limits())
    assert found.document()["refused"].startswith("no-power: a second of it has more than 35 W")


def test_a_trace_in_several_folders_has_its_samples_from_one_and_its_zero_checks_from_another(tmp_path: Path) -> None:
    # Given a spool with a sealed trace without its parts, and a download of it with an unfinished trace
    folder, downloads = trace(tmp_path / "spool", SERVER_US), tmp_path / "downloads"
    before, after = (ZeroReading("shunt", 0, volts, 1e-7, 2e-5, 80.0, 2000) for volts in (0.0, 1e-5))
    zero_check.store(folder, [before], [after])
    runs = written(tmp_path / "runs.csv", RUNS[:1])
    _, whole = measures(tmp_path / "spool", runs)
    shutil.copytree(folder, downloads / folder.name, ignore=shutil.ignore_patterns("zeros.json", "open"))
    for number in Trace.open(folder).numbers:
        Trace.open(folder).part(number).unlink()
    for unfinished in (downloads / f".{folder.name}.unfinished", folder.with_name(f".{folder.name}.new")):
        unfinished.mkdir()
        (unfinished / "header.json").touch()
    # Then the order of the folders does not matter, and the figure equals that from one folder with both
    for one, other in ((downloads, tmp_path / "spool"), (tmp_path / "spool", downloads)):
        ran, made = measures(one, runs, "--trace", other)
        assert (ran.status, made) == (0, whole)
    # And without the logger's own copy, `measures` names what the download lacks
    ran, made = measures(downloads, runs)
    assert made["RANK0001"]["expanded_uncertainty"] != whole["RANK0001"]["expanded_uncertainty"]
    assert any("there is no zero check" in note for note in made["RANK0001"]["notes"])
    assert not any("no zero check" in note for note in whole["RANK0001"].get("notes", ()))
    assert ran.out.splitlines()[-1] == f"note  1: {made['RANK0001']['notes'][-1]}"
    summary = measures(downloads, runs, "--json")[0].json()
    assert summary["notes"] == [{"says": note, "runs": 1} for note in made["RANK0001"]["notes"]]


def test_a_sealed_trace_is_marked_when_all_its_runs_have_figures(tmp_path: Path) -> None:
    sealed, later, unsealed = (trace(tmp_path / "spool", at) for at in (SERVER_US, LATER_US, LATER_US * 2 - SERVER_US))
    runs = [RUNS[0], RUNS[1], row("RANK0008", LATER_US * 2 - SERVER_US + 1_000_000, 1)]
    for folder in (sealed, later):
        (folder / "seal.json").write_text("{}")
    partly = [*runs, row("RANK0009", LATER_US + 5_000_000, 4)]  # ends after its trace
    for rows, marked in ((partly, [sealed]), (runs, [sealed, later])):
        ran, _ = measures(tmp_path / "spool", written(tmp_path / "runs.csv", rows))
        assert ran.err == ""
        assert [each for each in (sealed, later, unsealed) if (each / "measured").exists()] == marked


@pytest.mark.parametrize(
    "damaged", ["gaps.jsonl", "clocks.jsonl", "manifest.json", "zeros.json", "parts/000000.parquet"]
)
def test_a_trace_with_a_damaged_file_keeps_no_run_from_a_good_one(traces: Path, tmp_path: Path, damaged: str) -> None:
    shutil.copytree(traces, tmp_path / "traces")
    (bad,) = (each for each in (tmp_path / "traces").glob("*/*") if _began_us(each) == LATER_US)
    (bad / damaged).write_bytes(b"{\n")
    ran, made = measures(tmp_path / "traces", written(tmp_path / "runs.csv", RUNS[:2]))
    assert (ran.status, ran.err) == (1, "")
    assert made["RANK0001"]["mean_w"] == pytest.approx(HIGH_W, rel=2e-3)
    assert made["RANK0002"]["refused"].startswith("no-samples: ")
    assert str(bad / damaged) in made["RANK0002"]["refused"]


def _began_us(folder: Path) -> int:
    """Return the server's time at which a trace of the first laptop began; 0 for another laptop's."""
    given = Trace.open(folder)
    own = given.header["measured"] == power_traces.MEASURED
    return given.clocks[0].offset_us + given.started.monotonic_us if own else 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"run": "rid"}, "run rid: run: does not match"),
        ({"laptop": ""}, "run RANK0001: laptop: must be a string"),
        ({"started_us": ""}, "run RANK0001: started_us: must be an integer"),
        ({"ended_us": "-5"}, "run RANK0001: ended_us: must be at least 0"),
        ({"ended_us": 5}, "run RANK0001: ended_us: must be later than started_us"),
        ({"run": "RANK0002"}, "run RANK0002: is there twice"),
    ],
)
def test_a_bad_row_is_named(traces: Path, tmp_path: Path, changed: Row, said: str) -> None:
    runs = written(tmp_path / "runs.csv", [RUNS[0] | changed, RUNS[1]])
    ran, made = measures(traces, runs)
    assert (ran.status, made) == (65, {})
    assert f"{runs}: {said}" in ran.err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("runs.csv", b"run,state\nRANK0001,complete\n"),
        ("runs.jsonl", b"{\n"),
        ("runs.jsonl", b"[]\n"),
        ("runs.jsonl", b'{"run": "RANK0001", "clock": "monotonic:0b9bd7ac"}\n'),  # of the table `records`
        ("runs.parquet", b"PAR1"),
        ("runs.csv", b"\xff"),
    ],
)
def test_a_file_that_is_no_table_of_runs_is_named(traces: Path, tmp_path: Path, name: str, content: bytes) -> None:
    runs = tmp_path / name
    runs.write_bytes(content)
    ran, made = measures(traces, runs)
    assert (ran.status, made) == (65, {})
    assert f"{runs}: cannot be read as the table `runs` of `happe-server study export`: " in ran.err
