# SPDX-License-Identifier: GPL-2.0-or-later
"""One study in the laboratory: its protocol, its laptops and measuring hosts, and its participants."""

import datetime as dt
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from happe_demo.children import ROOT, Child
from happe_demo.laboratory import Laboratory, Meter, Rig
from happe_demo.laptop import Laptop, Visit
from happe_demo.meter import CALIBRATION
from happe_demo.office import BLINDED, Office, take_part, token_of
from happe_demo.screen import Step
from happe_demo.times import HostClock, StudyTime
from happe_demo.web import Api

Json = dict[str, Any]

MARGIN = """
[analysis]
margin = 0.5
reason = "A demonstration: nobody has asked people how much less satisfaction they would accept."
"""
PROTOCOLS = ROOT / "study-server/src/happe_study/study/protocol/examples"
CONSENT = r'(?<=\n)(text) = """.*?"""'  # the text of the consent, with placeholders for names

WALL_US = 1_700_000  # the errors of the meters' wall clocks
METER_PPM = (80.0, -45.0, 62.0, -80.0)
LAPTOP_PPM = (12.0, 3.0, 25.0, 8.0)
RATE_PPM = (-35.0, 20.0, 50.0, -10.0)


@dataclass(frozen=True)
class Place:
    """The common parts of studies: a folder, a server and its staff, the time, and its begin (microseconds, UTC)."""

    folder: Path
    url: str
    office: Office
    time: StudyTime
    began_us: int
    seed: int


@dataclass
class Course:
    """One study from its protocol to its last power trace. `players` simulates its participants."""

    at: Place
    study: str  # also the name of its example
    places: int
    players: Child
    rigs: list[Rig] = field(default_factory=list)
    visits: list[Visit] = field(default_factory=list)

    def create(self) -> None:
        """Create the study from the example of its name; the blinded one with an analysis."""
        protocol = (PROTOCOLS / f"{self.study}.toml").read_text()
        protocol = protocol.replace("participants = 24", f"participants = {self.places}")
        protocol = re.sub(CONSENT, '\\1 = "This is a demonstration."', protocol, count=1, flags=re.DOTALL)
        file = self.at.folder / f"{self.study}.toml"
        file.write_text(protocol)
        if self.study == BLINDED:
            file.write_text(protocol + MARGIN)
            planned = self.at.office("plan", file, "--participants", str(self.places), "--register")
            file.write_text(protocol + MARGIN + planned)
        self.at.office("study", "create", file)

    def equip(self, rigs: int) -> None:
        """Let laptops and measuring hosts enrol."""
        hosts = [self._meter(number) for number in range(rigs)]
        for number, host in enumerate(hosts):
            host.hear()
            random = Random(f"{self.at.seed} {self.study} {number}")  # noqa: S311 - no secret
            clock = HostClock(self.at.time, self.at.began_us, 10**9 * (number + 1), LAPTOP_PPM[number])
            code = self._enrolment(f"laptop {number + 1}", "laptop")
            self.rigs.append(Rig(Laptop(self.at.url, code, self.players, clock, random), Meter(host)))

    def invite(self, step: Step) -> None:
        """Invite a participant for each place, who consent and answer the questionnaire."""
        links = self.at.office.json("participant", "invite", self.study, "--count", str(self.places))
        persons = self.players.hear()["people"]
        for number, (invited, person) in enumerate(zip(links, persons, strict=True), start=1):
            random = Random(f"{self.at.seed} {self.study} answers {number}")  # noqa: S311 - no secret
            take_part(self.at.url, invited["link"], person, random)
            self.visits.append(Visit(number, token_of(invited["link"])))
            step.one_more()

    def play(self, participants: int, step: Step) -> None:
        """Let the first participants play all their runs."""

        def run_done(done: int) -> None:
            step.done(
                done, f"  {dt.datetime.fromtimestamp(self.at.time.now_us() / 1e6, dt.UTC):%H:%M} in the laboratory"
            )

        Laboratory(self.at.time, self.rigs, run_done).hold(self.visits[:participants])

    def await_traces(self, step: Step) -> None:
        """Wait until the server has sealed every power trace."""
        for rig in self.rigs:
            for _ in rig.meter.finish():
                step.one_more()

    @property
    def played(self) -> dict[str, Json]:
        """The simulation's facts on each run, by the run's code."""
        return {code: run for rig in self.rigs for code, run in rig.laptop.played.items()}

    def _meter(self, number: int) -> Child:
        name = f"meter {number + 1}"
        enrolled = Api(self.at.url)("POST", "devices/enrol", {"code": self._enrolment(name, "meter")})
        folder = self.at.folder / self.study / name.replace(" ", "-")
        folder.mkdir(mode=0o700, parents=True)
        logs = self.at.folder / "logs"
        child = Child.of_module(f"{self.study}-{folder.name}", "meter", [folder], logs)
        began_us = self.at.began_us
        clock = {"begin_us": began_us, "at_zero_us": 5 * 10**9, "ppm": METER_PPM[number], "wall_us": WALL_US}
        said = {"time": str(self.at.folder / "time"), "server": self.at.url}
        said |= {"token": enrolled["token"], "study": self.study, "meter": enrolled["device"]}
        day = dt.datetime.fromtimestamp(began_us / 1e6, dt.UTC).date()
        calibration = CALIBRATION.format(date=day - dt.timedelta(30), expires=day + dt.timedelta(335))
        child.tell(said | {"clock": clock, "rate_ppm": RATE_PPM[number], "calibration": calibration})
        return child

    def _enrolment(self, name: str, kind: str) -> str:
        code: str = self.at.office.json("device", "enrol", self.study, name, "--kind", kind)["enrolment_code"]
        return code
