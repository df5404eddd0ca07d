# SPDX-License-Identifier: GPL-2.0-or-later
"""Input that is not what it should be: the report refuses it by file and field, or it is harmless."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from typing import TYPE_CHECKING

import html5lib
import pytest

import report

if TYPE_CHECKING:
    import xml.etree.ElementTree as ET
    from collections.abc import Callable
    from pathlib import Path

    Simulate = Callable[..., Path]
    Break = Callable[[Path], None]

pytestmark = pytest.mark.slow

PARTICIPANTS = 2
TRAINING = "paper/traces/participant-01-torcs-T-HAPPE.jsonl"  # with two participants, the one of Figure A.3
DATA, NO_INPUT = 65, 66


@pytest.fixture(scope="module")
def studies(simulate: Simulate, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two good studies."""
    folder = tmp_path_factory.mktemp("studies")
    simulate(folder / "paper", "paper", PARTICIPANTS)
    simulate(folder / "a3", "a3", PARTICIPANTS)
    return folder


@pytest.fixture
def copy(studies: Path, tmp_path: Path) -> Path:
    """Return a copy to break."""
    shutil.copytree(studies, tmp_path / "copy")
    return tmp_path / "copy"


def run(folder: Path, *more: str) -> int:
    """Report on a folder's studies, in this process; all but the usage's mistakes return."""
    return report.main([str(folder / "paper"), str(folder / "a3"), str(folder / "out"), *more])


def edit(path: str, change: Callable[[str], str]) -> Break:
    """Return what changes a file's text."""

    def apply(folder: Path) -> None:
        old = (folder / path).read_text()
        new = change(old)
        assert new != old, "the test changes nothing"
        (folder / path).write_text(new)

    return apply


def put(*where: str | int, value: object, study: str = "paper") -> Break:
    """Return what puts a value into study.json."""

    def apply(folder: Path) -> None:
        path = folder / study / "study.json"
        document = json.loads(path.read_text())
        inner = document
        for name in where[:-1]:
            inner = inner[name]
        inner[where[-1]] = value
        path.write_text(json.dumps(document))

    return apply


def drop(*where: str | int) -> Break:
    """Return what takes a field out of study.json."""

    def apply(folder: Path) -> None:
        path = folder / "paper" / "study.json"
        document = json.loads(path.read_text())
        inner = document
        for name in where[:-1]:
            inner = inner[name]
        del inner[where[-1]]
        path.write_text(json.dumps(document))

    return apply


def remove(path: str) -> Break:
    """Return what removes a file or a folder."""

    def apply(folder: Path) -> None:
        if (folder / path).is_dir():
            shutil.rmtree(folder / path)
        else:
            (folder / path).unlink()

    return apply


def cell(line: int, column: str, value: str) -> Break:
    """Return what puts a text into a field of the paper study's runs.csv; line 1 is the header."""

    def change(text: str) -> str:
        table = list(csv.reader(io.StringIO(text)))
        table[line - 1][table[0].index(column)] = value
        return "".join(",".join(row) + "\n" for row in table)

    return edit("paper/runs.csv", change)


def sample(**fields: object) -> Break:
    """Return what puts fields into the first observation of Figure A.3's trace; a policy's go into its policy."""

    def change(text: str) -> str:
        lines = text.split("\n")
        line = json.loads(lines[1])
        for name, value in fields.items():
            inner = line["policies"][0] if name in {"id", "cur_khz", "util_ppm"} else line
            if value is None:
                del inner[name]
            else:
                inner[name] = value
        return "\n".join([lines[0], json.dumps(line), *lines[2:]])

    return edit(TRAINING, change)


STUDY = "paper/study.json: "
FIRST = "cells[0].power_mean_w"
CASES: dict[str, tuple[Break, int, str]] = {
    # study.json
    "no folder": (remove("paper"), NO_INPUT, STUDY + "cannot read: No such file"),
    "no study.json": (remove("a3/study.json"), NO_INPUT, "a3/study.json: cannot read: No such file"),
    "cut off": (edit("paper/study.json", lambda s: s[:999]), DATA, STUDY + "is not valid JSON"),
    "empty": (edit("paper/study.json", lambda _: ""), DATA, STUDY + "is not valid JSON"),
    "too deep": (edit("paper/study.json", lambda _: "[" * 100_000), DATA, STUDY + "is not valid JSON"),
    "not an object": (edit("paper/study.json", lambda _: "[]"), DATA, STUDY + "must be an object"),
    "NaN": (put("run_seconds", value=float("nan")), DATA, STUDY + "is not valid JSON: NaN"),
    "too great": (
        edit("paper/study.json", lambda s: s.replace("120.0", "1e999")),
        DATA,
        STUDY + "is not valid JSON: '1e999' is too great",
    ),
    "a long number": (edit("paper/study.json", lambda s: s.replace("120.0", "9" * 9999)), DATA, STUDY),
    "twice": (
        edit("paper/study.json", lambda s: s.replace("{", '{"seeds":[1],', 1)),
        DATA,
        STUDY + "is not valid JSON: the field 'seeds' is given twice",
    ),
    "other format": (put("format", value="happe-simulated-study/2"), DATA, STUDY + "format: is "),
    "swapped": (put("protocol", value="a3"), DATA, STUDY + "protocol: is 'a3', must be 'paper' (are the two folders"),
    "missing field": (drop("cells", 3, "rating_sd", "ours"), DATA, STUDY + "cells[3].rating_sd.ours: is missing"),
    "missing worst": (drop("worst"), DATA, STUDY + "worst: is missing"),
    "negative": (put("cells", 0, "power_mean_w", "ours", value=-1), DATA, STUDY + FIRST + ".ours: is -1, must be a"),
    "text": (put("cells", 0, "power_mean_w", "ours", value="39"), DATA, STUDY + FIRST + ".ours: is '39', must be a"),
    "true": (put("participants", value=True), DATA, STUDY + "participants: is True, must be a whole number"),
    "none": (put("participants", value=0), DATA, STUDY + "participants: is 0, must be a whole number from 1"),
    "rating of 6": (put("cells", 0, "rating_mean", "ours", value=6), DATA, STUDY + "cells[0].rating_mean.ours: is 6"),
    "null": (put("cells", 0, "rating_mean", value=None), DATA, STUDY + "cells[0].rating_mean: must be an object"),
    "no tolerance": (put("cells", 0, "power_mean_w", "tolerance", value=0), DATA, STUDY + FIRST + ".tolerance: is 0"),
    "wrong difference": (
        put("cells", 0, "power_mean_w", "difference", value=7),
        DATA,
        STUDY + FIRST + ".difference: is 7, but ours less the paper's is",
    ),
    "wrong worst": (put("worst", "share_of_tolerance", value=0.5), DATA, STUDY + "worst: says 0.5 of the tolerance"),
    "no seeds": (put("seeds", value=[]), DATA, STUDY + "seeds: must hold one seed or several in a row"),
    "seeds apart": (put("seeds", value=[1, 3]), DATA, STUDY + "seeds: must hold one seed or several in a row"),
    "no cells": (put("cells", value=[]), DATA, STUDY + "cells: must hold each application under each condition once"),
    "a cell less": (drop("cells", 4), DATA, STUDY + "cells: must hold each application under each condition once"),
    "control character": (put("provenance", value="a\x1b[31m"), DATA, STUDY + r"provenance: is 'a\x1b[31m', must hold"),
    "lone surrogate": (
        put("totals", 0, "condition", value="\ud800"),
        DATA,
        STUDY + r"totals[0].condition: is '\ud800', must hold",
    ),
    "300 bytes": (put("groups", 0, "group", value="é" * 150), DATA, STUDY + "groups[0].group: is "),
    "path": (
        put("cells", 0, "application", value="../x"),
        DATA,
        STUDY + "cells[0].application: is '../x', must hold no",
    ),
    "long text": (put("cells", 0, "application", value=["x" * 999]), DATA, "..., must be a string"),
    # runs.csv
    "no runs.csv": (remove("paper/runs.csv"), NO_INPUT, "paper/runs.csv: cannot read: No such file"),
    "empty csv": (
        edit("paper/runs.csv", lambda _: ""),
        DATA,
        "paper/runs.csv: line 1: column 1 is missing, must be 'seed'",
    ),
    "other column": (
        edit("paper/runs.csv", lambda s: s.replace("power_mean_w", "watts", 1)),
        DATA,
        "paper/runs.csv: line 1: column 9 is 'watts', must be 'power_mean_w'",
    ),
    "column more": (
        edit("paper/runs.csv", lambda s: s.replace("\n", ",more\n", 1)),
        DATA,
        "paper/runs.csv: line 1: column 29 is 'more', is unknown",
    ),
    "ladder backwards": (
        edit("paper/runs.csv", lambda s: s.replace("seconds_at_800000", "seconds_at_9900000", 1)),
        DATA,
        "paper/runs.csv: line 1: the columns seconds_at_... must name frequencies in kHz, ascending",
    ),
    "short line": (
        edit("paper/runs.csv", lambda s: s.rstrip("\n").rpartition(",")[0]),
        DATA,
        "has 27 fields, must have 28",
    ),
    "quote": (edit("paper/runs.csv", lambda s: s.replace("EECS", '"EECS', 1)), DATA, "paper/runs.csv: line "),
    "csv nan": (
        cell(2, "power_mean_w", "nan"),
        DATA,
        "paper/runs.csv: line 2: power_mean_w: is 'nan', must be a number",
    ),
    "csv negative": (cell(3, "power_mean_w", "-3.5"), DATA, "paper/runs.csv: line 3: power_mean_w: is '-3.5', must be"),
    "csv utilisation": (
        cell(3, "utilisation", "1.5"),
        DATA,
        "line 3: utilisation: is '1.5', must be a number from 0 to 1",
    ),
    "csv rating": (cell(4, "rating", "4.5"), DATA, "line 4: rating: is '4.5', must be a whole number from 1 to 5"),
    "csv digits": (cell(4, "rating", "\u0664"), DATA, r"line 4: rating: is '\u0664', must be a whole number"),
    "csv category": (cell(2, "category", "moody"), DATA, "line 2: category: is 'moody', must be rising or threshold"),
    "csv participant": (
        cell(2, "participant", "3"),
        DATA,
        "line 2: participant: is '3', must be a whole number from 1",
    ),
    "csv seed": (cell(2, "seed", "7"), DATA, "line 2: seed: is '7', must be a whole number from 2008 to 2008"),
    "csv application": (cell(2, "application", "doom"), DATA, "line 2: application: is 'doom', with the condition"),
    "csv twice": (cell(3, "condition", "ondemand"), DATA, "line 3: "),
    "csv UAFP descends": (cell(3, "uafp_0_khz", "9000000"), DATA, "line 3: uafp_0_khz to uafp_9_khz: must not descend"),
    "csv UAFP missing": (cell(3, "uafp_4_khz", ""), DATA, "line 3: uafp_4_khz: is '', must be a whole number"),
    "run missing": (
        edit("paper/runs.csv", lambda s: "".join(s.splitlines(keepends=True)[:-1])),
        DATA,
        "paper/runs.csv: participant 2: no run of 'trackballs' under oracle",
    ),
    # traces
    "no trace": (remove("paper/traces"), NO_INPUT, TRAINING + ": cannot read: No such file"),
    "empty trace": (edit(TRAINING, lambda _: ""), DATA, TRAINING + ": line 1: "),
    "header only": (edit(TRAINING, lambda s: s.split("\n")[0]), DATA, TRAINING + ": line 1: "),
    "other trace": (
        edit(TRAINING, lambda s: s.replace("happe-trace/1", "happe-trace/9")),
        DATA,
        TRAINING + ": line 1: format: is 'happe-trace/9', must be 'happe-trace/1'",
    ),
    "trace cut off": (edit(TRAINING, lambda s: s[:-20]), DATA, TRAINING + ": line 121: is not valid JSON"),
    "blank line": (
        edit(TRAINING, lambda s: s.replace("\n", "\n\n", 1)),
        DATA,
        TRAINING + ": line 2: is not valid JSON",
    ),
    "trace NaN": (sample(util_ppm=[float("nan"), 0]), DATA, TRAINING + ": line 2: is not valid JSON: NaN"),
    "trace negative": (sample(util_ppm=[-1, 0]), DATA, TRAINING + ": line 2: policies[0].util_ppm[0]: is -1, must be"),
    "busier than busy": (
        sample(util_ppm=[0, 1_000_001]),
        DATA,
        ": line 2: policies[0].util_ppm[1]: is 1000001, must be",
    ),
    "three CPUs": (sample(util_ppm=[0, 0, 0]), DATA, ": line 2: policies[0].util_ppm: has 3 members"),
    "no policy": (sample(policies=[]), DATA, ": line 2: policies: has 0 members"),
    "no frequency": (sample(cur_khz=None), DATA, ": line 2: policies[0].cur_khz: is missing"),
    "fraction": (sample(cur_khz=0.5), DATA, ": line 2: policies[0].cur_khz: is 0.5, must be a whole number"),
    "back in time": (
        sample(t_us=2_000_000),
        DATA,
        ": line 3: t_us: is 2000000, must be greater than the line's before",
    ),
    "other key": (sample(keys=[{"t_us": 1, "key": "turbo"}]), DATA, ": line 2: keys[0].key: is 'turbo', must be"),
    "late key": (sample(keys=[{"t_us": 9**9, "key": "power"}]), DATA, ": line 2: keys[0].t_us: is 387420489, must be"),
    "unknown field": (sample(mood="good"), DATA, ": line 2: holds the unknown field 'mood'"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_file_and_field(name: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    break_it, code, said = CASES[name]
    break_it(copy)
    assert run(copy) == code
    error = capsys.readouterr().err
    assert error.startswith("report.py: ")
    assert said in error
    assert error.count("\n") == 1
    assert len(error) < 600
    assert error.isascii()
    assert not (copy / "out").exists()


@pytest.mark.parametrize("name", ["paper/study.json", "paper/runs.csv", TRAINING])
def test_bytes_that_are_not_utf8_are_refused(name: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / name).write_bytes(b"\xff" + (copy / name).read_bytes())
    assert run(copy) == DATA
    assert f"{name}: byte 0: is not UTF-8" in capsys.readouterr().err


def test_a_folder_in_a_files_place_cannot_be_read(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "a3" / "runs.csv").unlink()
    (copy / "a3" / "runs.csv").mkdir()
    assert run(copy) == NO_INPUT
    assert "a3/runs.csv: cannot read: Is a directory" in capsys.readouterr().err


def rename(folder: Path, old: str, new: str) -> None:
    """Give an application of a study another name, in all three kinds of file."""
    document = json.loads((folder / "study.json").read_text())
    for one in [*document["cells"], *document["presses"]]:
        one["application"] = new if one["application"] == old else one["application"]
    (folder / "study.json").write_text(json.dumps(document))
    with (folder / "runs.csv").open(newline="") as file:
        table = [[new if value == old else value for value in row] for row in csv.reader(file)]
    with (folder / "runs.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table)
    for path in (folder / "traces").glob(f"participant-??-{old}-*"):
        path.rename(path.with_name(path.name.replace(f"-{old}-", f"-{new}-")))


def parse(path: Path) -> ET.Element:
    """Parse HTML, refusing what the standard calls a parse error."""
    with path.open("rb") as file:
        document: ET.Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(file)
    return document


APPLICATIONS = ["torcs", "quake3", "glest", "trackballs"]
HOSTILE = [
    ["<script>alert(1)<!--", "\"'&quot;>&amp;'", "$\\frac{1}{0}$ {{ title }} %s", "]]><svg onload=x>"],
    ["試験 \U0001f3ce", "x, y\u2028z", "-->" + "w" * 100, "&#x3c;img src=x onerror=x>"],
]


@pytest.mark.parametrize("names", HOSTILE)
def test_hostile_names_are_text_and_nothing_else(names: list[str], copy: Path) -> None:
    everything = " ".join(names)
    for study in ("paper", "a3"):
        for old, new in zip(APPLICATIONS, names, strict=True):
            rename(copy / study, old, new)
        put("provenance", value=f"{everything}</q></script>", study=study)(copy)
    assert run(copy, f"--title={everything}</title>") == 0
    html = parse(copy / "out" / "report.html")
    assert not list(html.iter("script"))
    assert not [one for one in html.iter() if any(key.startswith("on") for key in one.attrib)]
    assert html.findtext("head/title") == f"{everything}</title>"
    assert html.findtext("body/header/h1") == f"{everything}</title>"
    assert [quote.text for quote in html.iter("q")] == [f"{everything}</q></script>"]
    assert [one.text for one in html.iter("th") if one.get("scope") == "rowgroup"] == names
    files = sorted(path.name for path in (copy / "out").iterdir())
    assert all(re.fullmatch(r"[a-z0-9.-]+", one) for one in files)
    assert "figure-a1-application-1.svg" in files


def test_a_trace_may_visit_a_frequency_that_its_ladder_lacks(copy: Path) -> None:
    sample(cur_khz=1_000_000)(copy)
    assert run(copy) == 0
