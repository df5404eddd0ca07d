# SPDX-License-Identifier: GPL-2.0-or-later
"""The analysis reads a real server's exports in every format, and names each fault by file and place."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

import given_exports as given
import given_studies
from happe_contract.schemas import MOST_LISTED
from happe_study.model.participants import Participant
from happe_study.model.runs import Run
from happe_study.results.analysis import reading, study
from happe_study.results.analysis.reading import read_export, with_power
from happe_study.study.documents import T61, InputError, measures_in, read_measures, read_model
from operated import Operated
from test_erasure import played


def unblinded(operated: Operated) -> None:
    """An unblinded study: two participants completed a run each, and a third withdrew."""
    made = given_studies.study(operated.world, protocol=given_studies.small())
    people = [played(operated.world, made) for _ in range(3)]
    with operated.world.database.writing() as session:
        session.get_one(Participant, people[2].row.id).state = "withdrawn"
        session.execute(update(Run).where(Run.rating.is_not(None)).values(guess="learning"))
    given_studies.unblind(operated.world)


def test_what_the_server_exports_is_read_alike_from_every_format(operated: Operated, tmp_path: Path) -> None:
    unblinded(operated)
    exports = []
    for form in ("csv", "jsonl", "parquet"):
        operated.done("study", "export", "small", "--out", tmp_path / form, "--format", form)
        exports.append(read_export(tmp_path / form))
    read = exports[0]
    assert all(replace(each, digests={}) == replace(read, digests={}) for each in exports)
    assert read.study == "small"
    assert read.protocol == given_studies.small()
    assert [(run.place, run.before, run.guess) for run in read.runs.rows] == [(1, "", "learning")] * 2
    assert [run.seconds for run in read.runs.rows] == pytest.approx([30, 30], abs=0.01)
    assert {run.rating for run in read.runs.rows} != {None}
    assert all((run.performance or 0) + (run.power or 0) > 0 for run in read.runs.rows)
    assert dict(read.participants) == {"enrolled": 2, "withdrawn": 1}
    assert {each.why for each in read.left_out} == {"planned", "the participant withdrew"}
    assert [len(read.samples[run.run]) for run in read.runs.rows] == [30, 30]
    assert len(read.answers["field_of_study"]) == 2


def test_an_export_from_before_unblinding_is_refused(operated: Operated, tmp_path: Path) -> None:
    made = given_studies.study(operated.world, protocol=given_studies.small())
    played(operated.world, made)
    operated.done("study", "export", "small", "--out", tmp_path / "out")
    with pytest.raises(InputError, match=r"small-runs.csv: has no column condition; .* before the unblinding"):
        read_export(tmp_path / "out")


def test_a_protocol_that_was_changed_after_the_lock_is_refused(tmp_path: Path) -> None:
    files = given.paper_files().with_protocol()
    files.tables["study"][0]["protocol"] += "# and a wider margin"
    with pytest.raises(InputError, match=r"paper-a5-study.csv: the protocol is not the one whose SHA-256 was locked"):
        read_export(files.write(tmp_path))


def test_presses_less_than_a_second_apart_are_one_whether_counted_or_not() -> None:
    records = [{"run": "R"}]
    times = [0, 999_999, 1_999_998, 2_999_998, 5_000_000]
    keys = [{"run": "R", "key": "power", "t_us": at} for at in times]
    assert reading._presses(keys, records) == {"R": (0, 3)}  # noqa: SLF001 - the rule by itself


def test_a_formulas_apostrophe_is_taken_off(tmp_path: Path) -> None:
    read = read_export(given.paper_files().write(tmp_path))
    assert set(read.answers["field_of_study"].values()) == {f"={n}" for n in range(24)}


Change = tuple[str, int, str, Any]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("runs", 3, "position", "first"), "paper-a5-runs.csv: row 4: position: must be a whole number, is 'first'"),
        (("runs", 0, "application", ""), "paper-a5-runs.csv: row 1: application: is empty"),
        (("runs", 0, "participant", "NOBODY00"), "the export has no participant NOBODY00"),
        (("ratings", 1, "rating", "4.5"), "paper-a5-ratings.csv: row 2: rating: must be a whole number"),
    ],
)
def test_a_cell_that_is_wrong_is_named(tmp_path: Path, change: Change, why: str) -> None:
    files = given.paper_files()
    table, row, column, value = change
    files.tables[table][row][column] = value
    with pytest.raises(InputError, match=why):
        read_export(files.write(tmp_path))


def test_two_complete_runs_of_one_place_are_named(tmp_path: Path) -> None:
    files = given.paper_files()
    files.tables["runs"][4]["condition"] = "ondemand"
    with pytest.raises(InputError, match=r"runs R\d+ and R\d+ are both the complete run of the same place"):
        read_export(files.write(tmp_path))


def test_a_folder_that_is_no_export_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a folder"):
        read_export(tmp_path / "none")
    with pytest.raises(InputError, match="has no table of runs"):
        read_export(tmp_path)
    (tmp_path / "a-runs.csv").touch()
    (tmp_path / "b-runs.csv").touch()
    with pytest.raises(InputError, match=r"has a-runs\.csv and b-runs.csv; one export has one"):
        read_export(tmp_path)
    (tmp_path / "b-runs.csv").unlink()
    (tmp_path / "b-ratings.csv").touch()
    (tmp_path / "b-participants.csv").touch()
    with pytest.raises(InputError, match="has tables of a and b"):
        read_export(tmp_path)


def test_bytes_that_are_no_table_are_named(tmp_path: Path) -> None:
    for table in ("runs", "ratings", "participants"):
        (tmp_path / f"a-{table}.parquet").write_bytes(b"PAR1 is not all there is to it")
    with pytest.raises(InputError, match=r"a-runs.parquet: cannot be read"):
        read_export(tmp_path)


GOOD = {
    "run": "4HT2XC0N",
    "mean_w": 31.2,
    "expanded_uncertainty": 0.1,
    "k": 2,
    "calibration": {"standing": "valid", "says": "shunt A"},
}


@pytest.mark.parametrize(
    ("measures", "why"),
    [
        ([GOOD, GOOD], "run 4HT2XC0N appears twice"),
        ([GOOD | {"mean_w": -1}], "/measures/0/mean_w"),
        ([GOOD | {"k": 1}], "/measures/0/k"),
        ([GOOD | {"watts": 3}], "/measures/0"),
        ([GOOD | {"notes": [""]}], "/measures/0/notes/0"),
        ([{"run": "4HT2XC0N"}], "/measures/0"),
    ],
)
def test_measures_that_are_wrong_are_named(tmp_path: Path, measures: list[dict[str, Any]], why: str) -> None:
    file = tmp_path / "measures.json"
    file.write_text(json.dumps({"format": "happe-power-measures/1", "measures": measures}))
    with pytest.raises(InputError, match=f"measures.json: .*{why}|measures.json: {why}"):
        read_measures(file)


def test_of_a_long_document_one_mistake_is_told() -> None:
    for length, told in ((MOST_LISTED, 20), (MOST_LISTED + 1, 1)):
        raw = b'{"format": "happe-power-measures/1", "measures": [%s]}' % b",".join([b"0"] * length)
        with pytest.raises(InputError) as wrong:
            measures_in(raw, "measures.json")
        assert len(wrong.value.lines) == told
        assert wrong.value.lines[0] == "measures.json: /measures/0: must be an object"


def test_notes_of_measures_stand_below_the_tables_of_watts_the_commonest_first(tmp_path: Path) -> None:
    files = given.paper_files()
    for number, each in enumerate(files.measures[:12]):
        each["notes"] = ["no zero check is here", *([f"zero {number:02} is off"] if number else [])]
    read, measures = read_export(files.write(tmp_path)), read_measures(tmp_path / "measures.json")
    measured, _ = with_power(read.runs, measures)
    said = study.Study(read, measured, None, measures, T61).meter
    first = said.index("For 12 of the measured runs: no zero check is here")
    assert said[first + 1] == "For 1 of the measured runs: zero 01 is off"
    assert said[first + 10 :] == ("2 more notes are in the document of the measures.",)


def test_runs_without_power_and_power_without_runs_are_told(tmp_path: Path) -> None:
    files = given.paper_files()
    runs = [each["run"] for each in files.measures]
    files.measures[0] = {"run": runs[0], "refused": "samples are missing"}
    files.measures[1]["run"] = "ZZZZZZZZ"
    read = read_export(files.write(tmp_path))
    measured, notes = with_power(read.runs, read_measures(tmp_path / "measures.json"))
    assert notes == [
        "run ZZZZZZZZ: is measured, but does not count",
        f"run {runs[0]}: refused: samples are missing",
        f"run {runs[1]}: not measured",
    ]
    assert sum(run.mean_w is None for run in measured.rows) == 2


def test_a_machine_s_model_is_read_and_its_shape_checked(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    model = {
        "format": "happe-power-model/1",
        "machine": "a laptop",
        "measured": "2026-10-01",
        "utilisations_percent": [0, 100],
        "frequencies_khz": [800000, 2300000],
        "watts": [[10, 12], [15, 30]],
    }
    file.write_text(json.dumps(model))
    assert read_model(file).watts == ((10.0, 12.0), (15.0, 30.0))
    file.write_text(json.dumps(model | {"watts": [[10, 12]]}))
    with pytest.raises(InputError, match="/watts: must have a row for each frequency"):
        read_model(file)
    file.write_text(json.dumps(model | {"utilisations_percent": [100, 0]}))
    with pytest.raises(InputError, match="/utilisations_percent: must ascend"):
        read_model(file)
