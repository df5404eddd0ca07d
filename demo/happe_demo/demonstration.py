# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of two studies, from an empty folder to tables, with the processes that work for them."""

import datetime as dt
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from happe_demo import results
from happe_demo.children import ROOT, Child, DemoError
from happe_demo.course import METER_PPM, WALL_US, Course, Place
from happe_demo.office import BLINDED, STUDY, Office, Person, person_of, signed_in, staff
from happe_demo.ports import reserved_port
from happe_demo.screen import Step
from happe_demo.times import StudyTime, hasten_server
from happe_demo.web import answers

Json = dict[str, Any]

PAPER = ROOT / "study-server/tests/data"
HAPPE_SIM = Path(os.environ.get("HAPPE_SIM", ROOT / "build/bin/happe-sim")).absolute()

BEGINS_HOUR = 9
RUNS_EACH = 16  # four applications under four conditions
BLINDED_RUNS_EACH = 20  # and a run that teaches, for each application
BLINDED_PLACES, BLINDED_PLAY = 8, 6  # so that some have finished, some come next, and the study goes on
BLINDED_RIGS = 2
PATIENCE_S = 60.0
SIMULATED = (
    "  SIMULATED. The participants' needs, presses and ratings and each game's load were fitted to the paper's tables",
    "  (docs/simulation.md). Matching tables show that no step between a key press and a table loses or distorts data;",
    "  they show nothing about people.",
    "",
    "  ondemand is the kernel's governor. With HAPPE a participant first trains the profile (T-HAPPE), then plays with",
    "  it (O-HAPPE), then sees the battery indicator, too (B-HAPPE).",
)


@dataclass
class Demonstration:
    """Two studies in a folder, with their processes: the paper's, and a crossover that stays blinded."""

    folder: Path
    participants: int
    seed: int
    people: Sequence[Person] = field(default_factory=staff)
    url: str = ""

    def run(self) -> None:
        """Take all steps. Raises DemoError, OSError."""
        with Step("an empty server on this machine"):
            self._begin()
        with Step("its staff: investigator, custodian, reviewer, auditor"):
            self._office.employ(self.people, self.url)
        with Step("the protocols of section A.5 and of a crossover, sealed"):
            for study in (STUDY, BLINDED):
                self._office("study", "lock", study, "--yes")
        with Step("laptops and measuring hosts enrol"):
            self.paper.equip(min(len(METER_PPM), self.participants))
            self.crossover.equip(min(BLINDED_RIGS, self._blinded_play))
        with Step("participants consent and answer the questionnaire", self.participants + BLINDED_PLACES) as step:
            self.paper.invite(step)
            self.crossover.invite(step)
        with Step("they play", self._runs) as step:
            self.paper.play(self.participants, step)
        with Step("participants of the crossover play", BLINDED_RUNS_EACH * self._blinded_play) as step:
            self.crossover.play(self._blinded_play, step)
        with Step("power traces are recorded, uploaded and sealed", self.participants + self._blinded_play) as step:
            self.paper.await_traces(step)
            self.crossover.await_traces(step)
        self.time.catch_up()
        with Step("the investigator looks whether anything is unfinished"):
            ana = person_of(self.people, "investigator")
            self._ana = signed_in(self.url, ana.email, ana.password)
            results.await_gate(self._ana, STUDY)
        with Step("the custodian unblinds the first study, on the record"):
            self._unblind()
        with Step("the server measures every run, from the traces and the clocks"):
            results.await_watts(self._ana, STUDY)
        with Step("the report, made by the server"):
            self._conclude()
        with Step("an export of the tables"):
            results.export(self._office, STUDY, self.folder / "export")
        with Step("the server's checks of all these data"):
            self.checks = list(results.checks(self._office, STUDY))

    def _begin(self) -> None:
        self.folder.joinpath("logs").mkdir(mode=0o700)
        began_us = _morning_us()
        self.time = StudyTime.begin(self.folder / "time", began_us)
        hasten_server(self.time)
        config = self.folder / "server.toml"
        self._office = Office(config)
        listen = f"127.0.0.1:{reserved_port()}"
        self.url = f"http://{listen}"
        self._office.set_up(self.folder / "data", listen)
        at = Place(self.folder, self.url, self._office, self.time, began_us, self.seed)
        self.paper = Course(at, STUDY, self.participants, self._players(STUDY, self.participants, self.seed))
        self.crossover = Course(at, BLINDED, BLINDED_PLACES, self._players(BLINDED, BLINDED_PLACES, self.seed + 1))
        for course in (self.paper, self.crossover):
            course.create()
        self.server = Child.of_module("server", "serve", [self.folder / "time", config], self.folder / "logs")
        deadline = time.monotonic() + PATIENCE_S
        while not answers(self.url):
            if not self.server.alive or time.monotonic() > deadline:
                raise self.server.ended()
            time.sleep(0.05)

    def _players(self, study: str, participants: int, seed: int) -> Child:
        command: list[str | Path] = [HAPPE_SIM, "play", "--participants", str(participants), "--seed", str(seed)]
        return Child(f"{study}-happe-sim", command, self.folder / "logs")

    @property
    def _runs(self) -> int:
        return RUNS_EACH * self.participants

    @property
    def _blinded_play(self) -> int:
        return min(BLINDED_PLAY, self.participants)

    def _unblind(self) -> None:
        if not self._office.unblind(person_of(self.people, "custodian"), self.folder / "password")["agrees"]:
            raise DemoError("the sealed allocation differs from the one that seed and salt give")

    def _conclude(self) -> None:
        self.results = results.report(self._ana, STUDY, self.folder / "report.html")
        self.measured = results.measured(self._ana, STUDY, self.paper.played, self.folder / "measures.json")
        if self.measured.runs != self._runs:
            raise DemoError(f"{self.measured.runs} of {self._runs} runs are complete")

    def summary(self) -> Iterator[str]:
        """The results, for the terminal."""
        yield from ("", *SIMULATED, "")
        yield from results.tables(self.results, PAPER)
        yield from ("", "  The server's checks", *self.checks)
        yield from (
            "",
            f"  The meters' clocks were off by {WALL_US / 1e6:g} s and up to {max(map(abs, METER_PPM)):g} ppm.",
        )
        yield from self.measured.lines()
        yield from (
            "",
            f"  The crossover goes on: {self._blinded_play} of {BLINDED_PLACES} participants are done. Nobody can",
            "  see its conditions until its custodian unblinds it.",
        )


def _morning_us() -> int:
    """Nine o'clock yesterday, UTC: the studies are over before now."""
    today = dt.datetime.now(dt.UTC).replace(hour=BEGINS_HOUR, minute=0, second=0, microsecond=0)
    return int((today - dt.timedelta(days=1)).timestamp() * 1e6)
