# SPDX-License-Identifier: GPL-2.0-or-later
"""The study's staff and participants, who use happe-server's command line and its pages like anybody else."""

import io
import json
import secrets
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import click

from happe_cli.errors import Failure
from happe_demo.children import DemoError
from happe_demo.web import Browser

Json = dict[str, Any]

STUDY, BLINDED = "paper-a5", "crossover"  # two examples of protocols
LEVELS = ("beginner", "moderate", "master")
WORDS = """amber birch cedar delta ember fjord grove heron inlet juniper kelp
    lupin maple nectar otter pebble quartz reed sage tern umber vale willow yarrow"""


@dataclass(frozen=True)
class Person:
    """A person with an account."""

    email: str
    role: str
    password: str
    does: str  # a description for visitors of the demonstration
    page: str  # the page on which they see it


def staff() -> tuple[Person, ...]:
    """The study's people, with new passwords."""
    told = (
        ("ana", "investigator", "designed both studies; sees the results of the first", f"/studies/{STUDY}/report/1"),
        ("carl", "custodian", "may unblind the second study, and has no other right", f"/studies/{BLINDED}/unblinding"),
        ("rosa", "reviewer", "reviews what HAPPE learned for each participant", f"/studies/{STUDY}/profiles"),
        ("otto", "auditor", "reads the audit log", "/audit"),
    )
    return tuple(Person(f"{name}@example.org", role, _password(), does, page) for name, role, does, page in told)


def _password() -> str:
    return " ".join(secrets.choice(WORDS.split()) for _ in range(4))


class Office:
    """happe-server's commands on one configuration."""

    def __init__(self, config: Path) -> None:
        """Start without a server."""
        self._config = config

    def __call__(self, *arguments: str | Path, typed: str = "") -> str:
        """Run a command and return its output. `typed` is its standard input. Raises DemoError."""
        from happe_study.cli.program import program  # noqa: PLC0415 - takes a second

        command = ["--config", str(self._config), *map(str, arguments)]
        printed, before = io.StringIO(), sys.stdin
        sys.stdin = io.StringIO(typed)
        try:
            with redirect_stdout(printed), redirect_stderr(io.StringIO()):
                program.main(command, prog_name="happe-server", standalone_mode=False)
        except Failure as error:
            raise DemoError(f"happe-server {' '.join(map(str, arguments))}", *error.lines) from None
        except click.ClickException as error:
            raise DemoError(f"happe-server {' '.join(map(str, arguments))}", error.format_message()) from None
        finally:
            sys.stdin = before
        return printed.getvalue()

    def json(self, *arguments: str | Path) -> Any:  # noqa: ANN401 - JSON of any kind
        """Run a command and return its JSON output."""
        return json.loads(self(*arguments, "--json"))

    def set_up(self, data: Path, listen: str) -> None:
        """Create a server, with a first administrator whom nobody needs later."""
        self(
            *("init", "--data", data, "--listen", listen, "--administrator", "admin@example.org"),
            *("--password-file", "-"),
            typed=f"{_password()}\n",
        )
        text = self._config.read_text()
        self._config.write_text(f'metrics_listen = "off"\nworkers = 1\nlog_level = "warning"\n{text}')

    def employ(self, people: Iterable[Person], url: str) -> None:
        """Give everybody an account and a role. Each person changes the given password, as the server demands."""
        for person in people:
            given = _password()
            self("user", "add", person.email, "--password-file", "-", typed=f"{given}\n")
            for study in (STUDY, BLINDED):
                self("user", "grant", person.email, person.role, "--study", study)
            browser = signed_in(url, person.email, given)
            browser.open("/password")
            browser.send(
                "/password", password=given, new_password=person.password, new_password_confirm=person.password
            )

    def unblind(self, custodian: Person, file: Path) -> Json:
        """Reveal the conditions, on the record. `file` holds the password in the meantime."""
        why = "every run is complete, and its record has arrived"
        command = ("study", "unblind", STUDY, "--custodian", custodian.email, "--reason", why)
        file.write_text(custodian.password)
        try:
            printed = self(*command, "--password-file", file, "--json", typed=f"{STUDY}\n")
        finally:
            file.unlink()
        unblinded: Json = json.loads(printed[printed.index("{") :])
        return unblinded


def signed_in(url: str, email: str, password: str) -> Browser:
    """Sign a person in, and return their browser."""
    browser = Browser(url)
    browser.open("/sign-in")
    browser.send("/sign-in", email=email, password=password)
    return browser


def take_part(url: str, link: str, person: Json, random: Random) -> None:
    """Let a participant follow the link, agree, answer the questionnaire, and read the handout.

    The simulation gives their experience of games. Their experience of computers is the same, or one level off.
    """
    browser = Browser(url)
    browser.open(link)
    browser.send(link)
    browser.send("/p/consent", decision="agree", on_withdrawal="erase")
    games, major = person["experience"], person["major"]
    level = LEVELS.index(games)
    computers = random.choice(LEVELS[max(level - 1, 0) : level + 2])
    browser.send("/p/questionnaire", computer_experience=computers, game_experience=games, field_of_study=major)
    browser.send("/p/handout")


def token_of(link: str) -> str:
    """The secret at the end of a link. It tells a laptop which participant sits down."""
    return link.rsplit("/", 1)[1]


def person_of(people: Sequence[Person], role: str) -> Person:
    """The person with this role."""
    return next(person for person in people if person.role == role)
