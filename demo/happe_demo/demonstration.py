# SPDX-License-Identifier: GPL-2.0-or-later
"""The steps of a study, from an empty folder to its tables, with all that is at work for it."""

from __future__ import annotations

import datetime as dt
import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from happe_demo import results
from happe_demo.children import ROOT, Child, DemoError
from happe_demo.laboratory import Laboratory, Meter, Rig
from happe_demo.laptop import Laptop, Visit
from happe_demo.meter import CALIBRATION
from happe_demo.office import STUDY, Office, person_of, signed_in, staff, take_part, token_of
from happe_demo.ports import reserved_port
from happe_demo.screen import Step
from happe_demo.times import HostClock, StudyTime, hasten_server
from happe_demo.web import Api, answers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from happe_demo.office import Person

Json = dict[str, Any]

PROTOCOL = ROOT / "study-server/src/happe_study/design/protocol/examples/paper-a5.toml"
PAPER = ROOT / "study-server/tests/data/paper"
HAPPE_SIM = Path(os.environ.get("HAPPE_SIM", ROOT / "build/bin/happe-sim")).absolute()

CONSENT = r'(?<=\n)(text) = """.*?"""'  # its words, in which the protocol leaves names to be filled in

BEGINS_HOUR = 9
RUNS_EACH = 16  # four applications under four conditions
PATIENCE_S = 60.0
WALL_US = 1_700_000  # how far the meters' wall clocks are off
METER_PPM = (80.0, -45.0, 62.0, -80.0)
LAPTOP_PPM = (12.0, 3.0, 25.0, 8.0)
SIMULATED = (
    "  SIMULATED. The participants' needs, presses and ratings and each game's load were fitted to the paper's tables",
    "  (docs/simulation.md). Matching tables show that no step between a key press and a table loses or distorts data;",
    "  they show nothing about people.",
)
RATE_PPM = (-35.0, 20.0, 50.0, -10.0)


@dataclass
class Demonstration:
    """A study in a folder, with all that is at work for it."""

    folder: Path
    participants: int
    seed: int
    people: Sequence[Person] = field(default_factory=staff)
    rigs: list[Rig] = field(default_factory=list)
    url: str = ""

    def run(self) -> None:
        """All of it. Raises DemoError, OSError."""
        with Step("a server on this machine, with nothing in it"):
            self._begin()
        with Step("its staff: investigator, custodian, reviewer, auditor"):
            self._office.employ(self.people, self.url)
        with Step("the protocol of section A.5; its allocation is sealed"):
            self._lock()
        with Step("four laptops and four measuring hosts enrol"):
            self._equip()
        with Step("participants consent and answer the questionnaire", self.participants) as step:
            visits = self._invite(step)
        with Step("they play", self._runs) as step:
            Laboratory(self.time, self.rigs, lambda done: step.done(done, self._clock())).hold(visits)
        with Step("power traces are recorded, uploaded and sealed", self.participants) as step:
            self._await_traces(step)
        self.time.catch_up()
        with Step("the custodian unblinds the study, on the record"):
            self._unblind()
        with Step("the server measures every run, from the traces and the clocks"):
            ana = person_of(self.people, "investigator")
            self._ana = signed_in(self.url, ana.email, ana.password)
            results.await_watts(self._ana, STUDY)
        with Step("the report, made by the server"):
            self._conclude()
        with Step("an export of the tables"):
            results.export(self._office, STUDY, self.folder / "export")
        with Step("the server's checks of all these data"):
            self.checks = list(results.checks(self._office, STUDY))

    def _begin(self) -> None:
        self.folder.joinpath("logs").mkdir(mode=0o700)
        self._began_us = _morning_us()
        self.time = StudyTime.begin(self.folder / "time", self._began_us)
        hasten_server(self.time)
        config = self.folder / "server.toml"
        self._office = Office(config)
        listen = f"127.0.0.1:{reserved_port()}"
        self.url = f"http://{listen}"
        self._office.set_up(self.folder / "data", listen)
        protocol = PROTOCOL.read_text().replace("participants = 24", f"participants = {self.participants}")
        protocol = re.sub(CONSENT, '\\1 = "This is a demonstration."', protocol, count=1, flags=re.DOTALL)
        (self.folder / "protocol.toml").write_text(protocol)
        self._office("study", "create", self.folder / "protocol.toml")
        self.server = self._child("server", "serve", self.folder / "time", config)
        deadline = time.monotonic() + PATIENCE_S
        while not answers(self.url):
            if not self.server.alive or time.monotonic() > deadline:
                raise self.server.ended()
            time.sleep(0.05)
        self._players = Child(
            "happe-sim",
            [HAPPE_SIM, "play", "--participants", str(self.participants), "--seed", str(self.seed)],
            self._logs,
        )

    @property
    def _logs(self) -> Path:
        return self.folder / "logs"

    @property
    def _runs(self) -> int:
        return RUNS_EACH * self.participants

    def _child(self, name: str, module: str, *arguments: str | Path) -> Child:
        return Child.of_module(name, module, arguments, self._logs)

    def _lock(self) -> None:
        self._office("study", "lock", STUDY, "--yes")
        self._links = self._office.json("participant", "invite", STUDY, "--count", str(self.participants))

    def _equip(self) -> None:
        hosts = [self._meter(number) for number in range(min(len(METER_PPM), self.participants))]
        for number, host in enumerate(hosts):
            host.hear()
            random = Random(f"{self.seed} {number}")  # noqa: S311 - no secret
            clock = HostClock(self.time, self._began_us, 10**9 * (number + 1), LAPTOP_PPM[number])
            laptop = Laptop(self.url, self._enrolment(f"laptop {number + 1}", "laptop"), self._players, clock, random)
            self.rigs.append(Rig(laptop, Meter(host)))

    def _meter(self, number: int) -> Child:
        name = f"meter {number + 1}"
        enrolled = Api(self.url)("POST", "devices/enrol", {"code": self._enrolment(name, "meter")})
        folder = self.folder / name.replace(" ", "-")
        folder.mkdir(mode=0o700)
        child = self._child(name.replace(" ", "-"), "meter", folder)
        clock = {"begin_us": self._began_us, "at_zero_us": 5 * 10**9, "ppm": METER_PPM[number], "wall_us": WALL_US}
        said = {"time": str(self.folder / "time"), "server": self.url, "token": enrolled["token"], "study": STUDY}
        day = dt.datetime.fromtimestamp(self._began_us / 1e6, dt.UTC).date()
        calibration = CALIBRATION.format(date=day - dt.timedelta(30), expires=day + dt.timedelta(335))
        child.tell(
            said
            | {"clock": clock, "rate_ppm": RATE_PPM[number], "calibration": calibration, "meter": enrolled["device"]}
        )
        return child

    def _enrolment(self, name: str, kind: str) -> str:
        code: str = self._office.json("device", "enrol", STUDY, name, "--kind", kind)["enrolment_code"]
        return code

    def _invite(self, step: Step) -> list[Visit]:
        persons = self._players.hear()["people"]
        visits = []
        for number, (invited, person) in enumerate(zip(self._links, persons, strict=True), start=1):
            random = Random(f"{self.seed} answers {number}")  # noqa: S311 - no secret
            take_part(self.url, invited["link"], person, random)
            visits.append(Visit(number, token_of(invited["link"])))
            step.done(number)
        return visits

    def _clock(self) -> str:
        return f"  {dt.datetime.fromtimestamp(self.time.now_us() / 1e6, dt.UTC):%H:%M} in the laboratory"

    def _await_traces(self, step: Step) -> None:
        done = 0
        for rig in self.rigs:
            for _ in rig.meter.finish():
                done += 1
                step.done(done)

    def _unblind(self) -> None:
        if not self._office.unblind(person_of(self.people, "custodian"), self.folder / "password")["agrees"]:
            raise DemoError("the sealed allocation differs from the one that seed and salt give")

    def _conclude(self) -> None:
        self.results = results.report(self._ana, STUDY)
        played = {code: run for rig in self.rigs for code, run in rig.laptop.played.items()}
        self.measured = results.measured(self._ana, STUDY, played, self.folder / "measures.json")
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


def _morning_us() -> int:
    """Nine o'clock yesterday, UTC: the study is over before now."""
    today = dt.datetime.now(dt.UTC).replace(hour=BEGINS_HOUR, minute=0, second=0, microsecond=0)
    return int((today - dt.timedelta(days=1)).timestamp() * 1e6)
