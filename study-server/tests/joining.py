# SPDX-License-Identifier: GPL-2.0-or-later
"""People with browsers who join a study at the same time, from their link to the instructions, by real connections."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import given_participants
from given_studies import small, study
from happe_study.model.studies import Study
from happe_study.study.runs import participation as services
from patience import PATIENCE_S
from world import World

PLACES = 200
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CONSENT = {"version": "1", "on_withdrawal": "erase", "decision": "agree"}
ANSWERS = {"computer_experience": "moderate", "game_experience": "master", "field_of_study": "history"}


@dataclass
class Browser:
    """A person's browser. `took` has the seconds of each step, in order."""

    port: int
    cookies: SimpleCookie = field(default_factory=SimpleCookie)
    hidden: dict[str, str] = field(default_factory=dict)
    took: list[float] = field(default_factory=list)

    def get(self, path: str) -> str:
        """Get a page, and keep its hidden fields for the next form."""
        status, text = self._ask("GET", path, None)
        assert status == HTTPStatus.OK, (path, status)
        self.hidden = given_participants.hidden(text)
        return text

    def post(self, path: str, **fields: str) -> tuple[int, str]:
        """Send the form of the last page."""
        return self._ask("POST", path, urlencode(self.hidden | fields))

    def _ask(self, method: str, path: str, body: str | None) -> tuple[int, str]:
        known = "; ".join(f"{name}={morsel.value}" for name, morsel in self.cookies.items())
        headers = ({"Cookie": known} if known else {}) | (FORM if body is not None else {})
        began = time.monotonic()
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        self.took.append(time.monotonic() - began)
        for line in answer.headers.get_all("Set-Cookie") or ():
            self.cookies.load(line)
        return answer.status, text


@dataclass(frozen=True)
class Joined:
    """A person's result: whether they got a place, the server's last answer, and the seconds of each step."""

    placed: bool
    told: str
    took: tuple[float, ...]


def join(port: int, link: str) -> Joined:
    """Follow a link, consent, answer the questionnaire, and read the instructions."""
    browser = Browser(port)
    browser.get(link)
    assert browser.post(link)[0] == HTTPStatus.SEE_OTHER
    browser.get("/p/consent")
    assert browser.post("/p/consent", **CONSENT)[0] == HTTPStatus.SEE_OTHER
    browser.get("/p/questionnaire")
    status, told = browser.post("/p/questionnaire", **ANSWERS)
    if status != HTTPStatus.SEE_OTHER:
        return Joined(False, told, tuple(browser.took))  # noqa: FBT003 - a field
    browser.get("/p/handout")
    assert browser.post("/p/handout")[0] == HTTPStatus.SEE_OTHER
    return Joined(True, "", tuple(browser.took))  # noqa: FBT003 - a field


def invited(world: World, people: int, places: int = PLACES) -> tuple[Study, list[str]]:
    """A locked study with `places` places, and the links of `people` participants."""
    made = study(world, protocol=small(participants=places))
    with world.database.writing() as session:
        row = session.get_one(Study, made.id)
        return made, [f"/p/{services.invite(session, row, None)[1]}" for _ in range(people)]


def all_join(port: int, links: list[str]) -> list[Joined]:
    """Let everybody join at once, each in a thread that first waits for the others."""
    ready = threading.Barrier(len(links))

    def wait_and_join(link: str) -> Joined:
        ready.wait()
        return join(port, link)

    with ThreadPoolExecutor(len(links)) as threads:
        return list(threads.map(wait_and_join, links))
