# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests to every page and every GET of the API, from the application's own routes: a new one joins by itself.

Who asks follows from the route's rule, what is asked for from its arguments, drawn at random from the database of
large_study.py: three times out of four of the large study, else of the small one.
"""

from __future__ import annotations

import http.client
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from sqlalchemy import select

from given_accounts import CSRF, PASSWORD
from happe_study.access.rights import Role, roles_with
from happe_study.access.rules import Rule, Who, rule_of
from happe_study.audit.models import AuditHead
from happe_study.base.paging import cursor_after
from happe_study.design.study import Study
from happe_study.evidence.traces.models import Trace
from happe_study.people.devices.models import Device
from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run
from large_study import DRAFT, LARGE, SMALL
from load import Request
from patience import PATIENCE_S
from story import link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flask import Flask
    from sqlalchemy.orm import Session
    from werkzeug.routing import Rule as Url

    from world import World

Values = dict[str, Any]

ARGUMENT = re.compile(r"([a-z]+)/<(?:[^:<>]+:)?([a-z_]+)>")  # with the part of the path before it
ANSWERS = (HTTPStatus.OK, HTTPStatus.SEE_OTHER)  # a participant is led to the page that is next
BARE = "static"
STATIC = "happe.css"
DRAWN = 400  # of each kind, of each study
APPLICATIONS = ("torcs", "quake3", "glest", "trackballs")
OF_DRAFTS = {"study_pages.lock_form", "study_pages.change_form"}
STATES = {"participant_pages.consent": "invited", "participant_pages.questionnaire": "consented"}
STATES |= {"participant_pages.link": "invited", "participant_pages.done": "done"}


@dataclass(frozen=True)
class Route:
    """A route with some requests to it."""

    endpoint: str
    path: str  # with its arguments' names
    requests: list[Request]


@dataclass
class Drawn:
    """What there is to ask for in a study."""

    name: str
    participants: dict[str, list[str]] = field(default_factory=dict)  # codes by state
    runs: list[str] = field(default_factory=list)
    devices: dict[str, list[str]] = field(default_factory=dict)  # codes by kind
    traces: list[tuple[str, str]] = field(default_factory=list)  # with their meter's code

    @property
    def everybody(self) -> list[str]:
        """Codes of participants who have runs and have not left."""
        return [code for state in ("enrolled", "done") for code in self.participants[state]]


class Asking:
    """Makes requests to a server whose application and database are at hand. Staff signs in when it is asked for."""

    def __init__(self, world: World, address: tuple[str, int]) -> None:
        """Look at what there is."""
        self._world, self._address, self._random = world, address, Random(2)  # noqa: S311 - no secret
        with world.database.reading() as session:
            self._studies = {name: _drawn(session, name, self._random) for name in (LARGE, SMALL)}
            self._head = session.get_one(AuditHead, 1).number
        self._cookies: dict[Role, str] = {}

    def sign_in(self) -> None:
        """Let everybody in the roles give their password now."""
        self._cookies = {role: signed_in(self._address, f"{role}@example.org") for role in Role}

    def routes(self, many: int) -> Iterator[Route]:
        """Each route that answers GET, with so many requests."""
        app = self._world.app
        for url in sorted(app.url_map.iter_rules(), key=lambda url: (url.rule, url.endpoint)):
            rule = rule_of(app, url.endpoint)
            if "GET" in (url.methods or ()) and rule is not None:
                yield Route(url.endpoint, url.rule, [self._request(app, url, rule, n) for n in range(many)])

    def _request(self, app: Flask, url: Url, rule: Rule, number: int) -> Request:
        study = self._studies[SMALL if number % 4 == 3 else LARGE]  # noqa: PLR2004 - a quarter
        values = self._values(url, rule, study)
        arguments = {name: values[_key(url, name, values)] for name in url.arguments}
        queries = QUERIES.get(url.endpoint, (_asked_so({}),))
        query = urlencode(queries[number % len(queries)](self, study))
        built = app.url_map.bind("localhost").build(url.endpoint, arguments)
        headers = self._headers(rule, values)
        return Request("GET", built + ("?" + query if query else ""), b"", headers, tuple(map(int, ANSWERS)))

    def _values(self, url: Url, rule: Rule, study: Drawn) -> Values:
        """What arguments may be: by name, or by the part of the path before them and the name."""
        pick = self._random.choice
        trace, meter = pick(study.traces)
        state = STATES.get(url.endpoint)
        return {
            "study": DRAFT if url.endpoint in OF_DRAFTS else study.name,
            "participants/code": pick(study.participants["enrolled"]),
            "profiles/code": pick(study.participants["done"]),
            "application": pick(APPLICATIONS),
            "runs/code": pick(study.runs),
            "devices/code": pick(study.devices["laptop"]),
            "email": f"{pick(list(Role))}@example.org",
            "filename": STATIC,
            "number": 1,
            "piece": 1,
            "file": "report.html",
            "table": "runs",
            "trace": trace,
            "me": pick(study.participants[state or "enrolled"]),
            "token": link(pick(study.participants[state or "enrolled"])),
            "device": meter if "trace" in url.arguments else pick(study.devices[rule.device_kind or "laptop"]),
        }

    def _headers(self, rule: Rule, values: Values) -> dict[str, str]:
        match rule.who:
            case Who.PARTICIPANT:
                return {"Cookie": f"happe_participant={link(values['me'])}"}
            case Who.DEVICE:
                return {"Authorization": f"Bearer {link(values['device'])}"}
            case Who.STAFF:
                fit = roles_with(rule.right) if rule.right else set(Role)
                return {"Cookie": self._cookies[min(fit)]}
        return {}

    def one_of(self, values: list[str]) -> str:
        """Any of them."""
        return self._random.choice(values)

    def entry(self) -> int:
        """The number of some entry of the audit log."""
        return self._random.randrange(1, self._head)


def signed_in(address: tuple[str, int], email: str) -> str:
    """The cookie of somebody who signs in with a browser."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    connection.request("GET", "/sign-in")
    page = connection.getresponse()
    cookie = _cookie(page)
    form = urlencode({"email": email, "password": PASSWORD, "csrf_token": _token(page)})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    connection.request("POST", "/sign-in", form, headers)
    answer = connection.getresponse()
    if answer.status != HTTPStatus.FOUND:
        raise RuntimeError(f"{email} can't sign in: {answer.status}")
    connection.close()
    return _cookie(answer)


def csrf(address: tuple[str, int], email: str) -> tuple[str, str]:
    """The cookie of somebody who signs in and has seen a form, and the token against forgery of that session."""
    cookie, connection = signed_in(address, email), http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    connection.request("GET", "/me", headers={"Cookie": cookie})
    page = connection.getresponse()
    token = _token(page)
    connection.close()
    return _cookie(page) or cookie, token


def _token(page: http.client.HTTPResponse) -> str:
    found = CSRF.search(page.read().decode())
    if found is None:
        raise RuntimeError(f"{page.status} instead of a form")
    return found[1]


def _cookie(answer: http.client.HTTPResponse) -> str:
    return "; ".join(each.partition(";")[0] for each in answer.msg.get_all("Set-Cookie", []))


def _key(url: Url, name: str, values: Values) -> str:
    """What an argument is called in the values."""
    before = {argument: part for part, argument in ARGUMENT.findall(url.rule)}
    for key in (f"{before.get(name, '')}/{name}", name):
        if key in values:
            return key
    raise KeyError(f"{url.rule}: say in bench/routes.py what <{name}> is to be")


def _drawn(session: Session, name: str, random: Random) -> Drawn:
    study_id = session.scalars(select(Study.id).where(Study.name == name)).one()
    found = Drawn(name)
    for code, state in session.execute(select(Participant.code, Participant.state).filter_by(study_id=study_id)):
        found.participants.setdefault(state, []).append(code)
    mine = select(Run.code).join(Participant).where(Participant.study_id == study_id, Run.state == "complete")
    every = session.scalars(mine.order_by(Run.id)).all()
    found.runs = random.sample(every, min(DRAWN, len(every)))
    for code, kind in session.execute(select(Device.code, Device.kind).filter_by(study_id=study_id)):
        found.devices.setdefault(kind, []).append(code)
    traces = select(Trace.client_id, Device.code).join(Device, Device.id == Trace.device_id)
    rows = session.execute(traces.where(Trace.study_id == study_id).order_by(Trace.id).limit(DRAWN))
    found.traces = [(trace, meter) for trace, meter in rows]
    return found


def _asked_so(query: dict[str, Any]) -> Callable[[Asking, Drawn], dict[str, Any]]:
    return lambda _asking, _study: query


def _later_participants(asking: Asking, study: Drawn) -> dict[str, Any]:
    return {"cursor": cursor_after(asking.one_of(study.everybody))}


def _later_runs(asking: Asking, study: Drawn) -> dict[str, Any]:
    return {"cursor": cursor_after(asking.one_of(study.runs))}


PEOPLE = (
    _asked_so({}),
    _later_participants,
    *(_asked_so({"state": state}) for state in ("enrolled", "done", "replaced", "withdrawn")),
)
RUNS = (
    _asked_so({}),
    _later_runs,
    *(_asked_so({"state": state}) for state in ("complete", "started", "aborted", "replaced")),
)
RUNS += (lambda asking, study: {"participant": asking.one_of(study.everybody)},)
WANTED: tuple[dict[str, Any], ...] = (
    {},
    {"sort": "presses"},
    {"sort": "latest"},
    {"sort": "highest", "application": "glest"},
    {"q": "torcs"},
    {"marked": "flagged"},
    {"keys": "none"},
    {"end": "bottom", "check": "disagrees"},
    {"level": 3, "above_mhz": 2000},
    {"change": "unchanged", "condition": "O-HAPPE"},
)
PROFILES = tuple(map(_asked_so, WANTED))
# Filters and places in a list, one after the other. Other routes are requested as they are.
QUERIES: dict[str, tuple[Callable[[Asking, Drawn], dict[str, Any]], ...]] = {
    "participant_staff.participants": PEOPLE,
    "participants.list_participants": (*PEOPLE, _asked_so({"limit": 200})),
    "runs.list_runs": (*RUNS, _asked_so({"limit": 200, "state": "planned"})),
    "audit_pages.log": (_asked_so({}), lambda asking, _study: {"before": asking.entry()}),
    "audit.list_entries": (_asked_so({}), lambda asking, _study: {"after": asking.entry(), "limit": 500}),
    "traces.get_missing": (_asked_so({"count": 5}),),
    "profile_pages.profiles": PROFILES,
    "profiles.list_profiles": PROFILES,
    "run_view.run": (_asked_so({}), _asked_so({"from": 10, "to": 20})),
    "run_pages.run": (_asked_so({}), _asked_so({"watch": 1})),
}
