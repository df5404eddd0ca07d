# SPDX-License-Identifier: GPL-2.0-or-later
"""Everybody who can call the server, the routes of data/matrix.txt, and an object for each argument of a route."""

import re
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from uuid import UUID

import given_devices
import given_participants
import given_studies
from happe_study.model.rights import Role
from happe_study.model.studies import Study
from world import World

OFTEN = "1000000 per minute"
LIMITS = {"login": OFTEN, "enrol": OFTEN, "participant": OFTEN}
HERE, ELSEWHERE, EVERYWHERE = "here", "elsewhere", "every study"
ARGUMENT = re.compile(r"([a-z]+)/<(?:[^:<>]+:)?([a-z_]+)>")  # with the part of the path before it
CLIENT_ID = UUID("11111111-2222-4333-8444-555555555555")
KINDS = "NPLMS"
ROLES = {
    "I": Role.INVESTIGATOR,
    "E": Role.EXPERIMENTER,
    "A": Role.ANALYST,
    "C": Role.CUSTODIAN,
    "U": Role.AUDITOR,
    "D": Role.ADMINISTRATOR,
    "R": Role.REVIEWER,
}
# Where those who try a row have their roles, by its reach
PLACES = {"-": (EVERYWHERE,), "here": (HERE, ELSEWHERE), "some": (HERE, EVERYWHERE), "all": (HERE, EVERYWHERE)}
Who = tuple[str, str]  # a column of the matrix, and the place of the role


@dataclass(frozen=True)
class Row:
    """A row of the matrix: the columns of those who are let in, how far their role must reach, methods and route."""

    columns: str
    reach: str
    methods: tuple[str, ...]
    route: str
    again: bool  # needs a password given lately

    def answers(self, method: str) -> dict[Who, str]:
        """What the server says to each caller."""
        staff = [(column, where) for column in ROLES for where in PLACES[self.reach]]
        return {who: self._answer(method, *who) for who in [*((column, "") for column in KINDS), *staff]}

    def _answer(self, method: str, column: str, where: str) -> str:
        """What it says to one: "let in", "sign in", or the status of the refusal."""
        if self.reach == "here" and (column == "S" or where == ELSEWHERE):
            return "404"
        if column in self.columns and (self.reach != "all" or where == EVERYWHERE):
            return "let in"
        if column == "N":
            return "sign in" if method == "GET" and not self.route.startswith(("/api/", "/p/")) else "401"
        return "403"


def _row(line: str) -> Row:
    columns, reach, methods, route = line.split(maxsplit=3)
    return Row(columns, reach.strip("!"), tuple(methods.split(",")), route, reach.endswith("!"))


LINES = (Path(__file__).parent / "data/matrix.txt").read_text().splitlines()
MATRIX = [_row(line) for line in LINES if line and not line.startswith("#")]


@dataclass(frozen=True)
class Scene:
    """A locked study with a participant, runs and devices, and another study."""

    world: World
    study: Study
    other: Study
    arguments: dict[str, object]  # by the part of the path before them, or by their name

    def path(self, route: str) -> str:
        """A path of a route. Raises KeyError for an argument without a value in `scene`."""

        def filled(found: re.Match[str]) -> str:
            before, name = found.groups()
            own = f"{before}/{name}"
            return f"{before}/{self.arguments[own if own in self.arguments else name]}"

        return ARGUMENT.sub(filled, route)


def scene(world: World) -> Scene:
    """Make the scene."""
    study = given_studies.study(world, protocol=given_studies.small("here"))
    other = given_studies.study(world, protocol=given_studies.small("elsewhere"))
    target, link = given_participants.participant(world, study)
    run = given_participants.runs_of(world, target)[0]
    world.account(email="target@example.org")
    arguments = {
        "study": study.name,
        "participants/code": target.code,
        "profiles/code": target.code,
        "application": "torcs",
        "runs/code": run.code,
        "exclusions/code": run.code,
        "devices/code": given_devices.device(world, study, name="target").device.code,
        "email": "target@example.org",
        "token": link,
        "client_id": CLIENT_ID,
        "trace": CLIENT_ID,
        "number": 0,
        "table": "runs",
        "what": "measures",
        "file": "report.html",
        "filename": "happe.css",
    }
    return Scene(world, study, other, arguments)


def everybody(made: Scene) -> dict[Who, str | None]:
    """The token of each caller. An administrator gives the roles: in one study by program, in every study by page."""
    world, study = made.world, made.study
    tokens: dict[Who, str | None] = {
        ("N", ""): None,
        ("P", ""): given_participants.participant(world, study)[1],
        ("L", ""): given_devices.device(world, study).token,
        ("M", ""): given_devices.device(world, study, "meter").token,
        ("S", ""): world.account(),
    }
    administrator = world.staff(Role.ADMINISTRATOR)
    for column, role in ROLES.items():
        for where, name in ((HERE, study.name), (ELSEWHERE, made.other.name)):
            email = f"{role}-{where}@example.org"
            tokens[column, where] = world.account(email=email)
            given = administrator.post(f"/api/v1/accounts/{email}/grants", json={"role": role, "study": name})
            assert given.status_code == HTTPStatus.OK
        tokens[column, EVERYWHERE] = world.account(email=f"{role}@example.org")
        form = {"do": "grant", "role": role, "study": "*"}
        assert administrator.post(f"/accounts/{role}@example.org", data=form).status_code == HTTPStatus.SEE_OTHER
    return tokens
