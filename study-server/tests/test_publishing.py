# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server publish`: a data package that loads in Python and R, and whose answers identify nobody."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

import given_reports
from happe_study.access.rights import Right
from happe_study.base.tables.formats import Format
from happe_study.results.exports import services
from happe_study.results.exports.table import Source
from happe_study.results.publishing.disclosure import of_answers
from operated import happe_server
from world import fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from world import World


@pytest.fixture
def export(world: World, tmp_path: Path) -> Path:
    """The export of an unblinded study of four participants. Some answers look like formulas."""
    study = given_reports.finished(world)
    folder = tmp_path / "export"
    folder.mkdir()
    with world.database.reading() as session:
        study = session.merge(study, load=False)
        for table in services.tables(study).values():
            made = services.Export(
                Source(study.id, fixed_secrets().allocation),
                study.name,
                table,
                table.seen("unblinded", frozenset(Right)),
            )
            content = b"".join(services.stream(world.database, made, Format.CSV))
            (folder / made.file_name(Format.CSV)).write_bytes(content)
    file = folder / "finished-participants.csv"
    with file.open(newline="") as opened:
        reader = csv.DictReader(opened)
        rows, columns = list(reader), [*(reader.fieldnames or ()), "answer_born", "answer_hand"]
    with file.open("w", newline="") as opened:
        writer = csv.DictWriter(opened, columns)
        writer.writeheader()
        for n, row in enumerate(rows):
            writer.writerow(row | {"answer_born": str(1980 + n), "answer_hand": '\'=left, "é"' if n < 2 else "right"})
    with (folder / "finished-dictionary.csv").open("a", newline="") as opened:
        for name in ("answer_born", "answer_hand"):
            csv.writer(opened).writerow(("participants", name, "text", "", "false", "An | answer."))
    return folder


def test_nobody_is_given_away_by_answers(export: Path, tmp_path: Path) -> None:
    ran = happe_server("publish", export, "--out", tmp_path / "package")
    assert ran.status == 65
    assert "4 of 4 participants could be recognised by their answers: fewer than 5 share all of them" in ran.err
    assert not (tmp_path / "package").exists()
    ran = happe_server("publish", export, "--out", tmp_path / "package", "--k", "2")
    assert (ran.status, "without born: 2\n" in ran.err) == (65, True)
    ran = happe_server("publish", export, "--out", tmp_path / "package", "--k", "2", "--without", "born", "--json")
    assert (ran.status, ran.json()["k"]) == (0, 2)
    columns = (tmp_path / "package/finished-participants.csv").read_text().splitlines()[0]
    assert ("answer_born" in columns, "answer_hand" in columns) == (False, True)
    assert "answer_born" not in (tmp_path / "package/codebook.md").read_text()
    again = happe_server("publish", export, "--out", tmp_path / "package", "--k", "1")
    assert (again.status, "exists already" in again.err) == (73, True)


def test_disclosure_counts_who_shares_all_answers() -> None:
    people = [{"a": "1", "b": "x"}, {"a": "1", "b": "x"}, {"a": "1", "b": ""}, {"a": "2", "b": "x"}, {}]
    found = of_answers(people, ["a", "b"], 2)
    assert (found.k, found.participants, found.few, dict(found.without)) == (1, 5, 2, {"a": 3, "b": 1})
    assert of_answers([{}, {}], ["a"], 5).k is None


def _no_dictionary(export: Path) -> None:
    (export / "finished-dictionary.csv").unlink()


def _unknown_column(export: Path) -> None:
    file = export / "finished-runs.csv"
    file.write_text(file.read_text().replace("run,", "shoe,", 1))


def _wide_row(export: Path) -> None:
    with (export / "finished-participants.csv").open("a") as opened:
        opened.write("," * 99 + "\n")


def _other_bytes(export: Path) -> None:
    (export / "finished-dictionary.csv").write_bytes(b"\xff\xfe\x00")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_no_dictionary, "has no table `dictionary` as CSV"),
        (_unknown_column, "finished-runs.csv: column shoe: the dictionary does not describe it"),
        (_wide_row, "finished-participants.csv: a row has more cells than there are columns"),
        (_other_bytes, "finished-dictionary.csv: cannot be read"),
    ],
)
def test_an_unfit_export_is_an_error_that_names_the_file(
    export: Path, tmp_path: Path, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(export)
    ran = happe_server("publish", export, "--out", tmp_path / "package", "--k", "1")
    assert (ran.status, said in ran.err, "internal error" in ran.err) == (65, True, False), ran.err


PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
from load import load
print(json.dumps(load()))
"""
R = """
source(file.path(commandArgs(TRUE)[[1]], "load.R"))
tables <- load_study(commandArgs(TRUE)[[1]])
for (name in names(tables)) cat(name, nrow(tables[[name]]), "\\n")
cat("seconds", class(tables$runs$seconds), sum(tables$runs$seconds), "\\n")
cat("started", format(max(tables$records$started_us), digits = 20), "\\n")
cat("hand", tables$participants$answer_hand[[1]], "\\n")
cat("empty", sum(is.na(tables$ratings$comment)), "\\n")
"""


@pytest.mark.slow
def test_the_package_loads_in_python_and_in_r_with_the_same_values(export: Path, tmp_path: Path) -> None:
    out = tmp_path / "package"
    assert happe_server("publish", export, "--out", out, "--k", "1").status == 0
    document = json.loads((out / "datapackage.json").read_text())
    for resource in document["resources"]:
        content = (out / resource["path"]).read_bytes()
        assert (resource["bytes"], resource["hash"]) == (len(content), f"sha256:{sha256(content).hexdigest()}")
    keys = {each["name"]: each["schema"].get("primaryKey") for each in document["resources"]}
    assert (keys["runs"], keys["participants"], keys["ratings"]) == (["run"], ["participant"], None)
    ran = subprocess.run([sys.executable, "-I", "-c", PYTHON, out], check=True, capture_output=True, text=True)
    tables = json.loads(ran.stdout)
    (tmp_path / "load.R").write_text(R)
    command = ["Rscript", "--vanilla", "--encoding=UTF-8", str(tmp_path / "load.R"), str(out)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(tables["runs"]) == 40
    found = {f"{name} {len(rows)} " for name, rows in tables.items()}
    assert found == {line for line in shown if line.split()[0] in tables}
    assert f"seconds numeric {sum(row['seconds'] for row in tables['runs'])} " in shown
    assert f"started {max(row['started_us'] for row in tables['records'])} " in shown
    assert tables["participants"][0]["answer_hand"] == '=left, "é"'
    assert any(line.startswith('hand =left, "') for line in shown)
