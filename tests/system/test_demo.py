# SPDX-License-Identifier: GPL-2.0-or-later
"""`make demo`, with fewer people: it measures what happe-sim simulated, and Ctrl-C leaves nothing behind."""

import csv
import json
import os
import pty
import random
import re
import signal
import socket
import subprocess
import sys
import tomllib
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from happe_demo.demonstration import PAPER
from happe_demo.office import signed_in
from happe_demo.results import tables
from patience import PATIENCE_S, spend, until
from program import ROOT, HappeSim

pytestmark = pytest.mark.slow

PARTICIPANTS, SEED = 3, 11
PORT = re.compile(rb"http://127\.0\.0\.1:(\d+)/")
ACCOUNT = re.compile(r"^ +(\S+@\S+) +(\w+ \w+ \w+ \w+) .*\s+http\S+next=(\S+)", re.MULTILINE)
# Section A.5.2 of the paper: savings in percent, and mean ratings, over the four applications.
PRINTED = {
    "ondemand": ("0.00", "4.61"),
    "T-HAPPE": ("28.50", "4.55"),
    "O-HAPPE": ("24.39", "4.69"),
    "B-HAPPE": ("26.56", "4.63"),
}
PPM = [80.0, -45.0, 62.0, -80.0]  # the error of each meter's clock


class Demo:
    """A demonstration at a terminal. Its temporary files are in the test's folder."""

    def __init__(self, happe_sim: HappeSim, temporary: Path, *options: str) -> None:
        """Start it."""
        temporary.mkdir()
        self.temporary = temporary
        self.said = b""
        ours, theirs = pty.openpty()
        self._screen = ours
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "demo"), "--seed", str(SEED), *options],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=os.environ | {"TMPDIR": str(temporary), "HAPPE_SIM": str(happe_sim.program), "DISPLAY": ""},
            start_new_session=True,
        )
        os.close(theirs)

    def says(self, what: bytes) -> None:
        """Wait until it has printed this."""
        while what not in self.said:
            assert self._reads(), self.said.decode()

    def interrupted(self) -> int:
        """Press Ctrl-C, and return the exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end, and return the exit status."""
        while self._reads():
            pass
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """End it, if it still runs."""
        if self.process.poll() is None:
            self.interrupted()
        os.close(self._screen)

    def left(self) -> dict[int, str]:
        """Return its living processes and their commands. Their environment names the test's folder."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if str(self.temporary).encode() in (entry / "environ").read_bytes():
                    found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def _reads(self) -> bool:
        try:
            read = os.read(self._screen, 65536)
        except OSError:  # it has closed its end of the terminal
            return False
        self.said += read
        return bool(read)


class Shown(HTMLParser):
    """The words of a page."""

    def __init__(self, page: str) -> None:
        """Read it."""
        super().__init__()
        self.words: list[str] = []
        self.feed(page)

    def handle_data(self, data: str) -> None:
        """Keep words."""
        self.words += data.split()


def answers(port: int) -> bool:
    """Return whether a program listens on this port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def simulated(happe_sim: HappeSim, folder: Path) -> dict[tuple[str, str, str], dict[str, str]]:
    """Run the same study with happe-sim alone. Return its runs by participant, application and condition."""
    happe_sim.run("study", "--participants", str(PARTICIPANTS), "--seed", str(SEED), "--out", str(folder), "--quiet")
    with (folder / "runs.csv").open(newline="") as file:
        return {(row["participant"], row["application"], row["condition"]): row for row in csv.DictReader(file)}


def lines(file: Path) -> list[dict[str, object]]:
    """Return the documents of a file that has one on each line."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_demonstration_measures_what_was_simulated_and_shows_it(happe_sim: HappeSim, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    demo = Demo(happe_sim, tmp_path / "tmp", "--participants", str(PARTICIPANTS), "--keep", str(kept))
    try:
        demo.says(b"Ctrl-C ends it")
        port = int(PORT.findall(demo.said)[-1])
        with urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=PATIENCE_S) as page:
            assert "demonstration:" in Shown(page.read().decode()).words
        accounts = ACCOUNT.findall(demo.said.decode())
        for email, password, theirs in accounts:
            signed_in(f"http://127.0.0.1:{port}", email, password).open(theirs)  # it raises if they may not
        assert len(accounts) == 4
        assert demo.interrupted() == 0
    finally:
        demo.close()
    assert not demo.left()
    assert not answers(port)
    assert b"SIMULATED" in demo.said
    assert b"suspect" not in demo.said
    assert b"Watts           ok" in demo.said
    truth = simulated(happe_sim, tmp_path / "study")
    assert_report_answers((kept / "report.html").read_text())
    measures = {each["run"]: each for each in json.loads((kept / "measures.json").read_bytes())["measures"]}
    runs = {str(run["run"]): run for run in lines(kept / "export/paper-a5-runs.jsonl")}
    ratings = {run["run"]: run["rating"] for run in lines(kept / "export/paper-a5-ratings.jsonl")}
    numbers = participants(runs, ratings, truth)
    assert len(runs) == len(measures) == 16 * PARTICIPANTS
    for code, run in runs.items():
        same = truth[numbers[str(run["participant"])], str(run["application"]), str(run["condition"])]
        assert measures[code]["mean_w"] == pytest.approx(
            float(same["power_mean_w"]), abs=measures[code]["expanded_uncertainty"]
        )
    assert all(device["heard_of"] for device in asked(kept, "device", "list", "paper-a5"))
    crossover = asked(kept, "study", "status", "crossover")
    assert crossover["state"] == "locked"
    assert tomllib.loads((kept / "crossover.toml").read_text())["analysis"]["margin"] > 0, "it is planned as a test"
    assert crossover["participants"]["done"] == PARTICIPANTS
    assert crossover["participants"]["enrolled"] > 0
    assert crossover["runs"]["complete"] == 20 * PARTICIPANTS
    audit = asked(kept, "study", "verify", "crossover")
    assert {check["verdict"] for check in audit["checks"]} == {"ok", "cannot tell"}
    people = lines(kept / "export/paper-a5-participants.jsonl")
    experience = [(each["answer_computer_experience"], each["answer_game_experience"]) for each in people]
    assert len(set(experience)) > 1
    assert any(computers != games for computers, games in experience)
    drifts = [drift_ppm(file) for file in kept.glob("paper-a5/meter-*/spool/*/*/clocks.jsonl")]
    assert sorted(drifts) == pytest.approx(sorted(PPM[:PARTICIPANTS]), abs=5)


def assert_report_answers(report: str) -> None:
    """The report has the answer first, then Table A.1 with its watts. Where it has no statistical test, it says why."""
    said = " ".join(Shown(report).words)
    answer = said.index(f"{PARTICIPANTS} participants; 100.0 % of the runs have a rating, 100.0 % have power")
    watts = re.search(r"Torcs, a car race ondemand 3 [34]\d\.\d\d", said)
    assert watts, said
    assert answer < watts.start()
    assert "the locked protocol fixes no margin" in said


def asked(kept: Path, *command: str) -> Any:  # noqa: ANN401 - JSON of any kind
    """Run a server's command while the server does not run. Return the output."""
    program = [sys.executable, "-m", "happe_study", "--config", str(kept / "server.toml")]
    return json.loads(subprocess.run([*program, *command, "--json"], capture_output=True, check=True).stdout)


def participants(
    runs: dict[str, dict[str, object]], ratings: dict[object, object], truth: dict[tuple[str, str, str], dict[str, str]]
) -> dict[str, str]:
    """Return the simulation's number of each participant. Only the ratings tell who is who."""
    given: dict[str, dict[tuple[str, str], int]] = {}
    for code, run in runs.items():
        place = str(run["application"]), str(run["condition"])
        given.setdefault(str(run["participant"]), {})[place] = int(str(ratings[code]))
    return {
        code: next(
            number
            for number in {key[0] for key in truth}
            if all(int(truth[(number, *place)]["rating"]) == rating for place, rating in places.items())
        )
        for code, places in given.items()
    }


def drift_ppm(file: Path) -> float:
    """Return how much faster than the server's clock a meter's clock went, by the meter's own comparisons."""
    found = lines(file)
    first, last = ((int(str(each["monotonic_us"])), int(str(each["offset_us"]))) for each in (found[0], found[-1]))
    return -1e6 * (last[1] - first[1]) / (last[0] - first[0])


def test_the_means_over_the_applications_are_those_that_the_paper_prints() -> None:
    totals = [{"condition": condition, "rating_mean": 4.625, "improvement": 0.25} for condition in PRINTED]
    sections = [{"key": "table-a1", "data": {"cells": [], "totals": totals}}, {"key": "a3", "data": {"table_a3": []}}]
    shown = [line.split() for line in tables({"sections": sections}, PAPER) if "all four" in line]
    assert shown == [
        ["all", "four", condition, "4.63", f"({rating})", "25.00", f"({saving})"]
        for condition, (saving, rating) in PRINTED.items()
    ]


@pytest.mark.parametrize("step", [b"an empty server", b"they play"])
def test_ctrl_c_leaves_nothing_behind(happe_sim: HappeSim, tmp_path: Path, step: bytes) -> None:
    demo = Demo(happe_sim, tmp_path / "tmp", "--participants", "2")
    try:
        demo.says(step)
        spend(random.uniform(0, 1))  # any moment will do
        ports = listening(demo)
        assert demo.interrupted() == 130
    finally:
        demo.close()
    assert not demo.left()
    assert not [port for port in ports if answers(port)]
    assert not list((tmp_path / "tmp").iterdir())
    assert b"Traceback" not in demo.said


@pytest.mark.parametrize("step", [b"an empty server", b"they play"])
def test_a_killed_demonstration_leaves_no_process(happe_sim: HappeSim, tmp_path: Path, step: bytes) -> None:
    demo = Demo(happe_sim, tmp_path / "tmp", "--participants", "2")
    try:
        demo.says(step)
        demo.process.kill()
        until(lambda: not demo.left(), "the end of everything")
    finally:
        demo.close()


def test_what_failed_is_said_and_its_logs_are_kept(happe_sim: HappeSim, tmp_path: Path) -> None:
    demo = Demo(happe_sim, tmp_path / "tmp", "--participants", "2", "--keep", str(tmp_path / "kept"))
    try:
        demo.says(b"they play")
        servers = [process for process, command in demo.left().items() if "happe_demo.serve" in command]
        assert servers
        for process in servers:
            os.kill(process, signal.SIGKILL)
        assert demo.ended() == 1
    finally:
        demo.close()
    assert not demo.left()
    assert f"the output of its programs is in {tmp_path}/kept/logs" in demo.said.decode()
    assert (tmp_path / "kept/logs/server.log").exists()
    assert b"Traceback" not in demo.said


def listening(demo: Demo) -> list[int]:
    """Return the ports on which its server must listen."""
    text = "".join(file.read_text() for file in demo.temporary.glob("*/server.toml"))
    return [int(port) for port in re.findall(r'^listen = "127.0.0.1:(\d+)"', text, re.MULTILINE)]
