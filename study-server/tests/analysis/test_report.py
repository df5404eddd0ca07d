# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server analyse` and `plan`: the same files give the same bytes, and never a silent NaN."""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import html5lib
import pytest

import given_exports as given
from happe_study.results.analysis import noninferiority
from happe_study.results.analysis.making import SECTIONS, Given, make
from happe_study.results.analysis.noninferiority import Wanted
from happe_study.results.analysis.report import html, results, warnings
from happe_study.results.analysis.sections import exclusions
from happe_study.results.analysis.study import fixed
from happe_study.results.analysis.tidy import Runs, satisfaction
from in_process import Ran
from operated import SOURCES, happe_server

pytestmark = pytest.mark.slow


def protocol(name: str, folder: Path) -> Path:
    """A shipped protocol with a margin."""
    file = folder / f"{name}.toml"
    file.write_text(given.locked(name))
    return file


def analysed(folder: Path, files: given.Files, *more: str | Path) -> Ran:
    """Write an export and analyse it."""
    export = files.write(folder)
    arguments = ("--power", folder / "measures.json", "--out", folder / "report", "--json")
    return happe_server("analyse", export, *arguments, *more)


def data(ran: Ran) -> dict[str, Any]:
    """Each section's document."""
    assert ran.status == 0, ran.err
    return {each["key"]: each for each in ran.json()["sections"]}


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the paper's study, with its report."""
    folder = tmp_path_factory.mktemp("paper")
    assert data(analysed(folder, given.paper_files().with_protocol()))
    return folder


def test_the_paper_s_study_comes_out_of_its_export(paper: Path) -> None:
    report = json.loads((paper / "report/results.json").read_text())
    sections = {each["key"]: each for each in report["sections"]}
    assert list(sections) == ["answer", *SECTIONS]
    totals = {each["condition"]: each["improvement"] for each in sections["table-a1"]["data"]["totals"]}
    assert {name: round(100 * totals[name], 2) for name in given.TOTALS} == given.TOTALS
    assert sections["noninferiority"]["data"]["margin"] == 0.25
    assert "the same order" in report["warnings"][0]
    assert len(sections["answer"]["data"]["rows"]) == 5
    assert "happe-server " in report["facts"]["Made with"]
    assert ["the same order" in each for each in sections["period"]["refused"]] == [True]
    assert ["nobody was asked to guess" in each for each in sections["blinding"]["refused"]] == [True]
    assert set(sections["figures"]["data"]) == {"figure-a4", "figure-a5"}
    assert re.fullmatch(r"measures.json, SHA-256 [0-9a-f]{64}", report["facts"]["Power"])
    assert report["facts"]["Protocol"].startswith("as it was locked, SHA-256 ")


PROGRAM = "from happe_study.cli import main; main()"


def run_apart(folder: Path, *arguments: str, program: str = PROGRAM, **more: str) -> subprocess.CompletedProcess[bytes]:
    """Run happe-server in a separate process, which hashes with another seed and turns warnings into errors."""
    paths = f"{SOURCES}:{SOURCES.parents[1] / 'profiles/python/src'}"
    environment = os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": "7", "PYTHONDONTWRITEBYTECODE": "1"} | more
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, env=environment)


def numbers(document: object) -> list[float]:
    """All numbers of a document, in order."""
    if isinstance(document, dict | list):
        parts = document.values() if isinstance(document, dict) else document
        return [number for part in parts for number in numbers(part)]
    return [document] if isinstance(document, int | float) else []


ANALYSE = ("analyse", "export", "--power", "measures.json")


def test_the_same_command_gives_the_same_bytes_in_another_process(paper: Path) -> None:
    ran = run_apart(paper, *ANALYSE, "--out", "again")
    assert ran.returncode == 0, ran.stderr.decode()
    for name in ("results.json", "report.html"):
        assert (paper / "again" / name).read_bytes() == (paper / "report" / name).read_bytes(), name


def test_another_processors_arithmetic_changes_no_figure_by_more_than_a_millionth(paper: Path) -> None:
    """OpenBLAS uses other instructions on each kind of processor, and so gives other last digits."""
    ran = run_apart(paper, *ANALYSE, "--out", "elsewhere", OPENBLAS_CORETYPE="Prescott")
    assert ran.returncode == 0, ran.stderr.decode()
    here, there = (json.loads((paper / folder / "results.json").read_text()) for folder in ("report", "elsewhere"))
    assert len(numbers(here)) > 500
    assert numbers(there) == pytest.approx(numbers(here), rel=1e-6, abs=1e-12)


def test_the_page_is_html_that_shows_the_tables_and_tells_the_figures(paper: Path) -> None:
    text = (paper / "report/report.html").read_text()
    page = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    cells = ["".join(cell.itertext()) for cell in page.iter("td")]
    assert {"28.50", "4.60 (4.61)", "36.18"} <= set(cells)
    regions = [each.get("aria-label") for each in page.iter("div") if each.get("role") == "region"]
    assert len(regions) == len(set(regions)) > 5
    images = list(page.iter("img"))
    assert len(images) == 4
    assert all(image.get("alt") and image.get("src", "").startswith("data:image/svg+xml;base64,") for image in images)
    assert not re.search(r"(?:src|href)=[\"']https?:", text)


def test_a_report_overwrites_nothing(paper: Path) -> None:
    ran = happe_server("analyse", paper / "export", "--out", paper / "report")
    assert (ran.status, ran.out) == (73, "")
    assert "report.html: exists already" in ran.err


def test_a_crossover_has_every_section_and_finds_what_was_put_in(tmp_path: Path) -> None:
    # Given a run with more watts than a laptop can take
    files = given.paper_files(given.crossover_runs(), "crossover")
    wrong = files.measures[0]["run"]
    files.measures[0]["mean_w"] = 4000.0
    export = files.write(tmp_path)
    wanted = Given(export, tmp_path / "measures.json", protocol("crossover", tmp_path))
    document = json.loads(results(make(wanted)))
    found = {each["key"]: each for each in document["sections"]}
    assert "not checked against the lock" in document["facts"]["Protocol"]
    assert document["warnings"] == [
        ("A period effect: the place of a run changes power (place 3, place 4, place 5); see the section on it."),
        "T-HAPPE was always in the same place: effects of time can't be separated from it.",
        (
            f"Fault: run {wrong}: power: 4000 W is more than any laptop's supply delivers (400 W), so this run has no "
            "power here. Look at the shunt, its range and the calibration."
        ),
    ]
    assert found["power-model"]["data"]["runs"] == 24 * 20 - 1
    assert {key: each["refused"] for key, each in found.items() if each["refused"]} == {
        "groups": ["field_of_study: has more than 8 different answers, which make no groups"],
        "figures": ["Figure A.1: no run was at a fixed frequency"],
    }
    savings = {
        each["treatment"]: each["estimate"] for each in found["savings"]["data"]["savings"] if not each["application"]
    }
    assert savings["O-HAPPE"]["low"] < given.SAVED["O-HAPPE"] < savings["O-HAPPE"]["high"]
    assert savings["ondemand+indicator"]["low"] < 0 < savings["ondemand+indicator"]["high"]
    terms = {each["name"]: each for each in found["period"]["data"]["terms"]}
    assert terms["place 3"]["p"] < 0.001
    indices = {each["name"]: each for each in found["blinding"]["data"]}
    assert indices["Bang, learning control"]["low"] < 0.25 < indices["Bang, learning control"]["high"]
    assert found["noninferiority"]["data"]["participants"] == 24


def test_faults_that_are_planted_are_on_the_first_page_each_by_its_name(tmp_path: Path) -> None:
    # Given half of O-HAPPE's watts, B-HAPPE and ondemand swapped, three people who hate O-HAPPE, lower ratings in
    # later periods, a rating of 17 and a run of 4,000 W
    swapped = {"B-HAPPE": "ondemand", "ondemand": "B-HAPPE"}
    hating = {given.code("P", n) for n in range(3)}
    rows = []
    for run in given.crossover_runs().rows:
        hated = run.condition == "O-HAPPE" and run.participant in hating
        tired = max(1, (run.rating or 1) - (run.place >= 4))
        rows.append(replace(run, condition=swapped.get(run.condition, run.condition), rating=1 if hated else tired))
    files = given.paper_files(Runs(tuple(rows)), "crossover").with_protocol()
    lost = {run.run for run in rows if run.condition == "O-HAPPE" and run.participant > given.code("P", 11)}
    files.measures = [each for each in files.measures if each["run"] not in lost]
    files.measures[0]["mean_w"] = 4000.0
    files.tables["ratings"][40]["rating"] = 17
    report = make(Given(files.write(tmp_path), tmp_path / "measures.json"))
    said = "\n".join(warnings(report))
    off = files.tables["ratings"][40]["run"]
    assert f"Fault: run {off}: rating: is 17, must be 1 to 5, the scale of the protocol" in said
    assert f"Fault: run {files.measures[0]['run']}: power: 4000 W is more than any laptop's supply delivers" in said
    assert f"Fault: an arm is missing: {96 - len(lost)} of 96 runs under O-HAPPE have measured power." in said
    assert re.search(r"Fault: B-HAPPE takes 3\d\.\d % more power than ondemand. Check whether somebody swapped", said)
    assert "A minority dislikes O-HAPPE: 3 of 24 participants rate it, against ondemand, at least 1." in said
    assert "A period effect: the place of a run changes ratings (place 4, place 5)" in said
    assert f"{len(lost)} runs: not measured: " in said
    page = html(report).decode()
    assert page.index("A minority dislikes") < page.index('id="answer"') < page.index('id="table-a1"')


def test_the_flow_tells_of_every_run_and_the_diagnostics_of_the_person_who_is_apart(tmp_path: Path) -> None:
    # Given a participant who withdrew, two aborted runs, an outlier of power, and a person who rates O-HAPPE low
    rows = given.crossover_runs().rows
    apart, gone = given.code("P", 3), given.code("P", 23)
    far = next(run for run in rows if run.participant == given.code("P", 5) and run.condition == "B-HAPPE")
    changed = tuple(
        replace(
            run,
            rating=1 if run.participant == apart and run.condition == "O-HAPPE" else run.rating,
            mean_w=2 * (run.mean_w or 0) if run is far else run.mean_w,
        )
        for run in rows
    )
    files = given.paper_files(Runs(changed), "crossover").with_protocol()
    for person in files.tables["participants"]:
        person["state"] = "withdrawn" if person["participant"] == gone else "done"
    aborted = [row for row in files.tables["runs"] if row["condition"] == "O-HAPPE"][:2]
    for row in aborted:
        row |= {"state": "aborted", "abort_reason": "the phone rang"}
    report = make(Given(files.write(tmp_path), tmp_path / "measures.json"))
    sections = {each.key: each for each in report.sections}
    people, diagnosed = sections["participants"], sections["diagnostics"].data
    assert sum(each[2] for each in people.data["periods"]) == len(rows)
    assert sum(each[3] for each in people.data["periods"]) == 23 * 20 - 2
    assert "Participants not analysed: 1 withdrawn" in people.pictures[0].about
    assert (diagnosed["far"][0]["participant"], diagnosed["far"][0]["condition"]) == (far.participant, "B-HAPPE")
    [tested] = [each for each in diagnosed["influence"] if each["what"] == "the test of non-inferiority"]
    assert tested["without_most"] == apart
    differences = sections["table-a1"].data["differences"]
    [whole] = [each for each in differences if each["treatment"] == "O-HAPPE" and each["application"] is None]
    test = sections["noninferiority"].data
    assert [whole["estimate"][name] for name in ("value", "low", "high")] == [
        test[name] for name in ("difference", "low", "high")
    ]
    cuts = [each for each in diagnosed["cuts"] if each["condition"] == "O-HAPPE" and each["estimate"] is not None]
    assert {each["above"] for each in cuts} >= {3, 4}


def test_exclusions_are_counted_and_the_main_answers_are_there_with_and_without_them(tmp_path: Path) -> None:
    # Given a run and a person excluded blind, and a run excluded after the unblinding
    runs = given.crossover_runs().rows
    person = given.code("P", 23)
    one, late = [run for run in runs if run.condition == "O-HAPPE" and run.participant == given.code("P", 3)][:2]
    files = given.paper_files(Runs(runs), "crossover").with_protocol()
    row = {"reason": "technical fault", "note": "it crashed", "blind": "true"}
    files.tables["exclusions"] = [
        {"participant": one.participant, "run": one.run} | row,
        {"participant": late.participant, "run": late.run} | row | {"blind": "false"},
        {"participant": person, "run": None} | row,
    ]
    with_all = make(Given(files.write(tmp_path), tmp_path / "measures.json"))
    sections = {each.key: each for each in with_all.sections}
    # Then the flow and the runs have them, and the run's pair is missing
    flow = sections["participants"].pictures[0].about
    assert "1: excluded: technical fault" in flow
    assert "4: the participant is excluded: technical fault" in flow
    assert "Participants not analysed: 1 excluded" in flow
    test = sections["noninferiority"].data
    assert (test["participants"], test["pairs"], test["missing"]) == (23, 23 * 4 - 1, 1)
    # And each answer is there three times: as reported, with everything, and without the late one
    listed, answers = sections["exclusions"].tables
    assert {row[-1] for row in listed.rows if row[1] == late.run} == {"sensitivity analysis"}
    verdicts = {row[0]: row[3] for row in answers.rows if row[1].endswith("?")}
    assert list(verdicts) == [exclusions.REPORTED, exclusions.ALL, exclusions.LESS]
    assert verdicts[exclusions.REPORTED] == f"{fixed(test['low'], 3)} to {fixed(test['high'], 3)} points"
    wanted = Wanted(test["margin"], test["alpha"], 4.0)
    whole = noninferiority.test(Runs(runs).panel(satisfaction), test["treatment"], test["reference"], wanted)
    assert verdicts[exclusions.ALL] == f"{fixed(whole.low, 3)} to {fixed(whole.high, 3)} points"
    savings = {row[0]: row[2] for row in answers.rows if "O-HAPPE saves" in row[1]}
    assert len(set(savings.values())) == len(savings) == 3
    # And the first page says so
    [said] = [row[1] for row in sections["answer"].tables[0].rows if row[0] == "What was excluded?"]
    counted = [f"1 {what}, technical fault" for what in ("participant", "run", "run")]
    assert said.startswith(f"{'; '.join(counted)} (sensitivity analysis); the verdict ")


def test_levels_are_compared_with_the_highest_and_drawn_as_figure_a1(tmp_path: Path) -> None:
    export = given.paper_files(given.level_runs(), "paper-a3").write(tmp_path)
    report = make(Given(export, tmp_path / "measures.json")).document()
    found = {each["key"]: each for each in report["sections"]}
    savings = found["savings"]["data"]["savings"]
    assert {each["reference"] for each in savings} == {"fixed-5"}
    assert {each["treatment"] for each in savings} == {f"fixed-{n}" for n in range(1, 5)}
    drawn = found["figures"]["data"]["figure-a1"]
    assert len(drawn) == 10
    first = drawn[given.code("P", 0)]["torcs"]
    assert len(first["ratings"]) == 5
    assert first["busy_percent"] == [90.0] * 5
    assert ["fixes no margin" in each for each in found["noninferiority"]["refused"]] == [True]


def test_what_the_data_do_not_bear_is_refused_in_its_place(tmp_path: Path) -> None:
    """No figure is a silent NaN: `results` refuses to write one. test_any_number has many other data."""
    files = given.paper_files()
    for row in files.tables["runs"][::7]:
        row |= {"state": "aborted", "abort_reason": "the phone rang"}
    wanted = Given(files.write(tmp_path), tmp_path / "measures.json", protocol("paper-a5", tmp_path))
    found = {each["key"]: each for each in json.loads(results(make(wanted)))["sections"]}
    refused = {key for key, each in found.items() if each["refused"]}
    assert refused >= {"ratings", "power-model", "period", "blinding", "groups", "figures"}
    assert {each["why"] for each in found["runs"]["data"]["left_out"]} == {"aborted: the phone rang"}
    assert "of the pairs are missing" in found["noninferiority"]["refused"][0]
    assert "only why they are missing" in found["power-model"]["refused"][0]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["export", "--protocol", "crossover.toml"], 65, "crossover.toml: is not the locked protocol"),
        (["export", "--power", "crossover.toml"], 65, "crossover.toml: : is no JSON"),
        (["export", "--machine", "measures.json"], 65, "measures.json: "),
        (["nothing"], 66, "nothing"),
    ],
)
@pytest.mark.usefixtures("beside")
def test_bad_input_is_an_error_that_names_it(tmp_path: Path, arguments: list[str], status: int, said: str) -> None:
    ran = happe_server("analyse", *arguments, "--out", tmp_path / "report")
    assert ran.status == status
    assert said in ran.err
    assert "internal error" not in ran.err


@pytest.fixture
def beside(paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in the paper's folder, with another study's protocol."""
    protocol("crossover", paper)
    monkeypatch.chdir(paper)


def test_a_protocol_of_another_study_is_refused(tmp_path: Path) -> None:
    export = given.paper_files().write(tmp_path)
    ran = happe_server("analyse", export, "--protocol", protocol("crossover", tmp_path), "--out", tmp_path / "report")
    assert (ran.status, "is the protocol of crossover, the export is of paper-a5" in ran.err) == (65, True)


def test_without_the_extra_the_command_says_what_to_install(paper: Path) -> None:
    program = "import sys; sys.modules['scipy'] = None; from happe_study.cli import main; main()"
    ran = run_apart(paper, "analyse", "export", "--out", "other", program=program)
    advice = "the Python package scipy is missing; install happe-study-server[analysis]"
    assert (ran.returncode, ran.stderr.decode()) == (69, f"happe-server: {advice}\n")


def test_a_plan_says_how_likely_each_size_shows_it(tmp_path: Path, paper: Path) -> None:
    file = protocol("crossover", tmp_path)
    found = happe_server("plan", file, "--json").json()
    assert [each["participants"] for each in found] == [12, 24, 36, 48, 72]
    assert all(low["power"] <= high["power"] for low, high in pairwise(found))
    shown = happe_server("plan", file, "--participants", "40", "--difference", "-0.25", "--dropout", "0.1").out
    assert re.search(r"^40 +36 +[1-4]\.\d % +\d+\.\d %$", shown, re.MULTILINE)
    like = happe_server("plan", file, "--participants", "48", "--like", paper, "--json").json()
    assert (like[0]["power"], like[0]["saving_power"] > 0.9) == (1.0, True)
    assumed = ("--participants", "24", "--minority", "0.1", "--dropout", "0.25", "--register")
    harmless, lines = (happe_server("plan", file, *assumed, "--dislike", points).out for points in ("0", "3"))
    assert "of 2000 studies" in lines
    assert lines != harmless.replace("--dislike 0", "--dislike 3")
    before = happe_server("study", "preregister", file).out
    file.write_text(file.read_text().replace("[analysis]\n", f"[analysis]\n{lines}"))
    registered = happe_server("study", "preregister", file).out
    assert "Register its table" in before
    assert "Register its table" not in registered
    assert [f"- {line}" in registered for line in tomllib.loads(lines)["planned"]] == [True, True]
    bare = happe_server("plan", given.PROTOCOLS / "crossover.toml")
    assert (bare.status, "has no section [analysis]" in bare.err) == (65, True)
