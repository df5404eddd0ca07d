# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-sim study` as a person or a script would use it."""

import csv
import json
import os
import subprocess
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from patience import PATIENCE_S
from program import HappeSim
from study_server import HAPPE_SERVER

EX_USAGE, EX_DATAERR, EX_CANTCREAT, EX_IOERR = 64, 65, 73, 74
FITTED = Path(__file__).resolve().parents[2] / "governor/sim/fitted.json"


def study(happe_sim: HappeSim, *arguments: str) -> dict[str, Any]:
    """Run a study and read its JSON."""
    ran = happe_sim.run("study", "--json", *arguments)
    assert (ran.returncode, ran.stderr) == (0, b"")
    result: dict[str, Any] = json.loads(ran.stdout)
    return result


def test_the_papers_tables_are_reproduced_on_seeds_the_fit_has_not_seen(happe_sim: HappeSim) -> None:
    """Each figure of Tables A.1 and A.3 and each overall saving is within its tolerance, as a mean over ten seeds."""
    ran = happe_sim.run("study", "--seed", "1..10", "--jobs", "2", "--check", "--json")
    result = json.loads(ran.stdout)
    print("worst:", result["worst"])
    assert ran.returncode == 0, result["worst"]
    power = [c["power_mean_w"] for c in result["cells"] if c["condition"] != "oracle"]
    assert len(power) == 16
    for cell in result["cells"]:
        figures = [value for value in cell.values() if isinstance(value, dict)]
        for figure in figures if cell["condition"] != "oracle" else []:
            assert abs(figure["ours"] - figure["paper"]) <= figure["tolerance"], cell
    assert {c["power_mean_w"]["tolerance"] for c in result["cells"] if c["condition"] == "ondemand"} == {1.0}
    assert {t["saving_percent"]["paper"] for t in result["totals"] if t["condition"] != "oracle"} == {
        28.50,
        24.39,
        26.56,
    }


def test_a_check_that_is_out_of_tolerance_fails(happe_sim: HappeSim, tmp_path: Path) -> None:
    """Participants who need no speed at all don't behave as the paper's did."""
    parameters = json.loads(FITTED.read_text())
    for application in parameters["applications"]:
        application["need_khz"] = 1
    file = tmp_path / "parameters.json"
    file.write_text(json.dumps(parameters))
    ran = happe_sim.run("study", "--check", "--parameters", str(file))
    assert ran.returncode == 1
    assert b"the others are marked !" in ran.stdout


def test_seeds_side_by_side_give_what_one_after_the_other_gives(happe_sim: HappeSim) -> None:
    several = study(happe_sim, "--seed", "3..6", "--participants", "3")
    assert study(happe_sim, "--seed", "3..6", "--participants", "3", "--jobs", "4") == several


def test_other_conditions_can_be_compared_with(happe_sim: HappeSim) -> None:
    result = study(happe_sim, "--participants", "2", "--also", "UDFS", "--also", "fixed-2", "--also", "UDFS")
    conditions = [total["condition"] for total in result["totals"]]
    assert conditions == ["T-HAPPE", "O-HAPPE", "B-HAPPE", "oracle", "UDFS", "fixed-2"]


def test_worlds_show_power_beside_what_it_costs_people(happe_sim: HappeSim) -> None:
    arguments = ("--worlds", "fitted,plausible", "--hours", "0.2", "--participants", "1", "--seed", "1..2")
    results = study(happe_sim, *arguments)["results"]
    assert {row["world"] for row in results} == {"fitted", "plausible"}
    assert {row["machine"] for row in results} == {"t61"}
    table = happe_sim.run("study", *arguments).stdout.decode()
    for column in ("watts", "of oracle %", "dissat. s/min", "faster/h", "save/h"):
        assert column in table
    for row in results:
        assert f"{row['governor']} " in table
        assert f"{row['watts']['mean']:.2f} +- {row['watts']['standard_error']:.2f}" in table
    for wrong in (("--worlds", "atlantis"), ("--machines", "t62"), ("--worlds", "all", "--protocol", "a3")):
        ran = happe_sim.run("study", *wrong)
        assert ran.returncode == EX_USAGE
        assert wrong[-1].encode() in ran.stderr or b"excludes" in ran.stderr


def test_a3_has_ten_participants_at_five_levels(happe_sim: HappeSim) -> None:
    result = study(happe_sim, "--protocol", "a3")
    assert result["participants"] == 10
    assert [cell["condition"] for cell in result["cells"]][:5] == [f"fixed-{level}" for level in range(1, 6)]
    utilisation = [cell["utilisation_percent"] for cell in result["cells"]]
    assert utilisation[0] > utilisation[4], "it falls as the frequency rises (section A.3)"


def test_a_folder_gets_everything_and_its_traces_replay(happe_sim: HappeSim, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = happe_sim.run("study", "--participants", "2", "--out", str(out))
    assert ran.returncode == 0
    assert (out / "tables.txt").read_bytes() == ran.stdout
    assert json.loads((out / "study.json").read_text())["participants"] == 2
    assert len((out / "runs.csv").read_text().splitlines()) == 1 + 2 * 4 * 5
    traces = sorted((out / "traces").iterdir())
    assert len(traces) == 2 * 4 * 5
    for trace in traces:
        assert happe_sim.run("replay", str(trace)).returncode == 0


@pytest.mark.slow
def test_its_folder_is_analysed_as_a_real_study_is(happe_sim: HappeSim, tmp_path: Path) -> None:
    """The study server's report finds the same means and key presses as the simulator."""
    out = tmp_path / "out"
    own = study(happe_sim, "--seed", "4..5", "--participants", "5", "--also", "UDFS", "--out", str(out))
    with (out / "runs.csv").open() as opened:
        first = [row for row in csv.DictReader(opened) if row["seed"] == "4"]
    words = f"analyse {out}/export --power {out}/measures.json --out {tmp_path}/report --json"
    ran = subprocess.run(
        [HAPPE_SERVER, *words.split()], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stderr
    report = json.loads(ran.stdout)
    assert report["study"] == "simulated-paper"
    sections = {section["key"]: section for section in report["sections"]}

    cells = {(cell["application"], cell["condition"]): cell for cell in sections["table-a1"]["data"]["cells"]}
    assert set(cells) == {(cell["application"], cell["condition"]) for cell in own["cells"]}
    for place, cell in cells.items():
        rows = [row for row in first if (row["application"], row["condition"]) == place]
        assert cell["power_n"] == cell["rating_n"] == len(rows) == 5
        assert cell["power_mean_w"] == pytest.approx(fmean(float(row["power_mean_w"]) for row in rows), abs=1e-4)
        assert cell["rating_mean"] == pytest.approx(fmean(int(row["rating"]) for row in rows))

    for cell in sections["presses"]["data"]["table_a3"]:
        conditions = {"T-HAPPE"} if cell["phase"] == "training" else {"O-HAPPE", "B-HAPPE"}
        rows = [row for row in first if row["application"] == cell["application"] and row["condition"] in conditions]
        minutes = 2 * len(rows)
        for key in ("performance", "power"):
            assert cell[key] == pytest.approx(sum(int(row[f"{key}_presses"]) for row in rows) / minutes)

    refused = [line for key in ("table-a1", "savings", "groups") for line in sections[key]["refused"]]
    # Five people may all see the same difference between two conditions.
    assert [line for line in refused if not line.startswith("difference of ratings, ")] == []
    [figures] = sections["figures"]["refused"]
    assert figures.startswith("Figure A.1: ")


BAD_ARGUMENTS = [
    (["--seed", "x"], EX_USAGE, b"--seed x: must be"),
    (["--seed", "5..2"], EX_USAGE, b"--seed 5..2: must be"),
    (["--seed", "1..99999999"], EX_USAGE, b"at most 10000 seeds"),
    (["--also", "fixed-6"], EX_USAGE, b"--also"),
    (["--also", "O-HAPPE"], EX_USAGE, b"--also"),
    (["--protocol", "a3", "--check"], EX_USAGE, b"--check: the paper prints no table of section A.3"),
    (["--parameters", "/nonexistent/p.json"], EX_DATAERR, b"/nonexistent/p.json: No such file"),
    (["--parameters", "/"], EX_DATAERR, b"/: "),
    (["--out", "/dev/null/out"], EX_CANTCREAT, b"/dev/null/out: cannot create"),
]


@pytest.mark.parametrize(("arguments", "status", "message"), BAD_ARGUMENTS, ids=[" ".join(b[0]) for b in BAD_ARGUMENTS])
def test_bad_arguments_are_refused_with_the_option(
    happe_sim: HappeSim, arguments: list[str], status: int, message: bytes
) -> None:
    ran = happe_sim.run("study", *arguments)
    assert (ran.returncode, ran.stdout) == (status, b"")
    assert ran.stderr.startswith(b"happe-sim: ")
    assert message in ran.stderr
    assert ran.stderr.count(b"\n") == 1


BAD_PARAMETERS = [
    ("", "not JSON"),
    ("[]", "must be an object"),
    ('{"format":"happe-participants/2"}', "format: must be one of"),
    ('{"format":"happe-participants/1","format":"happe-participants/1"}', "format: given twice"),
    (
        '{"format":"happe-participants/1","provenance":"x","people":{},"applications":[]}',
        "people.experience_effect: missing",
    ),
    ("x" * 20_000_000, "longer than"),
]


@pytest.mark.parametrize(("text", "message"), BAD_PARAMETERS, ids=[message for _, message in BAD_PARAMETERS])
def test_bad_parameters_are_refused_with_file_and_field(
    happe_sim: HappeSim, tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "parameters.json"
    file.write_text(text)
    ran = happe_sim.run("study", "--parameters", str(file))
    assert ran.returncode == EX_DATAERR
    assert f"{file}: {message}" in ran.stderr.decode() or (text == "[]" and message in ran.stderr.decode())


@pytest.mark.parametrize("name", ["../x", "a,b", "", "A", "x" * 300, "torcs\\u0000", "glest"])
def test_an_application_is_named_for_files_and_tables(happe_sim: HappeSim, tmp_path: Path, name: str) -> None:
    """The program refuses a name that could leave a folder or break a table, and a name given twice."""
    file = tmp_path / "parameters.json"
    file.write_text(FITTED.read_text().replace('"name": "torcs"', f'"name": "{name}"'))
    ran = happe_sim.run("study", "--parameters", str(file), "--out", str(tmp_path / "out"))
    assert ran.returncode == EX_DATAERR
    assert f"{file}: applications[".encode() in ran.stderr
    assert b"].name: " in ran.stderr


def shell(happe_sim: HappeSim, script: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which $SIM is the program."""
    environment = {**os.environ, "SIM": str(happe_sim.program)}
    command = ["/bin/sh", "-c", script]
    return subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE_S, env=environment, cwd=cwd)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ('"$SIM" study --participants 1 <&-', 0),
        ('"$SIM" study --participants 1 >&-', EX_IOERR),
        ('"$SIM" bogus 2>&-', EX_USAGE),
        ('"$SIM" bogus 2>/dev/full', EX_USAGE),
        ('"$SIM" replay /nonexistent 2>&-', 66),
        ('"$SIM" replay /proc/self/mem', EX_IOERR),
        ('"$SIM" observe --seconds 1 --record run.jsonl <&- >&-', EX_IOERR),
        ('"$SIM" observe --seconds 1 >/dev/full', EX_IOERR),
    ],
)
def test_closed_and_full_standard_streams_are_errors_at_most(
    happe_sim: HappeSim, tmp_path: Path, script: str, status: int
) -> None:
    assert shell(happe_sim, script, tmp_path).returncode == status


def test_a_folder_holds_one_study(happe_sim: HappeSim, tmp_path: Path) -> None:
    happe_sim.run("study", "--participants", "3", "--out", str(tmp_path))
    happe_sim.run("study", "--participants", "1", "--out", str(tmp_path))
    assert len(list((tmp_path / "traces").iterdir())) == 4 * 5
