# SPDX-License-Identifier: GPL-2.0-or-later
"""A study at several sites: each site is balanced, and an experimenter of one sees nothing of the others."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

import given_accounts
import given_participants as given
import given_studies
from enrolled import SECRETS, sequences
from happe_study.access.rights import Role
from happe_study.base.problems import Problem
from happe_study.design.study import Study
from happe_study.people.accounts.models import Account
from happe_study.people.callers import staff_caller
from happe_study.people.participants.models import Participant
from happe_study.results.unblinding import services as unblinding
from happe_study.results.unblinding.services import Order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient

    from operated import Operated
    from world import World

SITES = ("kiel", "bonn")
EACH = 8
PROTOCOL = given_studies.small(participants=2 * EACH) + f"\n[sites.quota]\nkiel = {EACH}\nbonn = {EACH}\n"
TIMES = 3  # so many times the number of places join at once


def of_site(world: World, study: Study, site: str, email: str) -> FlaskClient:
    """A program with the token of an experimenter of one site."""
    token = world.account(Role.EXPERIMENTER, study_id=study.id, email=email)
    with world.database.writing() as session:
        account = session.scalars(select(Account).where(Account.email == email)).one()
        account.grants[0].site = site
    return world.client(token)


def test_each_site_is_full_and_exactly_balanced_however_many_join_at_once(world: World) -> None:
    study = given_studies.study(world, protocol=PROTOCOL)
    ready = threading.Barrier(TIMES * EACH)

    def join(number: int) -> int | None:
        ready.wait()
        try:
            return given.participant(world, study, site=SITES[number % 2])[0].id
        except Problem as problem:
            if problem.kind != "full":
                raise
            return None

    with ThreadPoolExecutor(TIMES * EACH) as threads:
        joined = list(threads.map(join, range(TIMES * EACH)))
    for number, _site in enumerate(SITES):
        here = [each for each in joined[number::2] if each is not None]
        assert len(here) == EACH
        with world.database.reading() as session:
            counts = sequences(session, here)
        assert set(counts.values()) == {EACH // 4}
        assert len(counts) == 2 * 4


def test_anybody_can_compute_the_allocation_of_the_sites_again(small_operated: Operated) -> None:
    world = small_operated.world
    study = given_studies.study(world, protocol=PROTOCOL)
    people = [given.participant(world, study, site=site)[0] for site in ("bonn", "kiel", "bonn")]
    with world.database.writing() as session:
        unblinding.unblind(
            session, session.get_one(Study, study.id), SECRETS, Order(None, "every run is done", "small")
        )
    with world.database.reading() as session:
        found = session.get_one(Study, study.id)
        assert found.seed is not None
        assert found.salt is not None
        values = ("--commitment", str(found.commitment), "--seed", found.seed.hex(), "--salt", found.salt.hex())
    file = small_operated.file.parent / "small.toml"
    file.write_text(PROTOCOL)
    slots = small_operated.done("study", "allocation", file, *values, "--json").json()["slots"]
    assert [(each["stratum"], each["slot"]) for each in slots][EACH] == ("bonn", 1)
    planned = {(each["stratum"], each["slot"]): [run["condition"] for run in each["runs"]] for each in slots}
    for person, place in zip(people, (("bonn", 1), ("kiel", 1), ("bonn", 2)), strict=True):
        assert [run.condition for run in given.runs_of(world, person)] == planned[place]


@dataclass(frozen=True)
class Sited:
    """A study with one participant at each site, and an experimenter of Kiel."""

    world: World
    study: Study
    kiel: Participant
    bonn: Participant
    experimenter: FlaskClient

    @property
    def foreign(self) -> list[str]:
        """The codes that the experimenter of Kiel must not see."""
        return [self.bonn.code, *(run.code for run in given.runs_of(self.world, self.bonn))]


@pytest.fixture
def sited(world: World) -> Sited:
    study = given_studies.study(world, protocol=PROTOCOL)
    kiel, bonn = (given.participant(world, study, site=site)[0] for site in SITES)
    for row in (kiel, bonn):
        given.completed(world, given.runs_of(world, row)[0].code, given.laptop_with(world, study, row))
    return Sited(world, study, kiel, bonn, of_site(world, study, "kiel", "eve@example.org"))


def addresses(sited: Sited) -> Iterator[str]:
    """Every address about the study for GET, with the codes of Bonn, or without codes."""
    for rule in sited.world.app.url_map.iter_rules():
        if "study" in rule.arguments and "GET" in (rule.methods or ()) and rule.arguments <= {"study", "code"}:
            path = rule.rule.replace("<study>", "small")
            yield from {re.sub("<code>", code, path) for code in (sited.bonn.code, sited.foreign[1])}
    yield from (
        "/api/v1/studies/small/runs?participant=" + sited.bonn.code,
        "/api/v1/studies/small/runs?state=complete",
    )
    yield "/studies/small/participants?state=enrolled"


@pytest.mark.parametrize("unblinded", [False, True])
def test_an_experimenter_of_one_site_learns_nothing_of_another(sited: Sited, unblinded: bool) -> None:  # noqa: FBT001
    if unblinded:
        with sited.world.database.writing() as session:
            study = session.get_one(Study, sited.study.id)
            unblinding.unblind(session, study, SECRETS, Order(None, "every run is done", "small"))
    asked = 0
    for address in addresses(sited):
        answer = sited.experimenter.get(address)
        asked += answer.status_code == HTTPStatus.OK
        body = answer.text.replace(address, "")  # a page may contain its own address
        known = [code for code in sited.foreign if code in body and code not in address]
        assert not known, address
        if any(code in address for code in sited.foreign) and "?" not in address:
            assert answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN), address
    assert asked > 5  # lists, and pages about the whole study
    listed = sited.experimenter.get("/api/v1/studies/small/participants").get_json()["participants"]
    assert [each["code"] for each in listed] == [sited.kiel.code]
    runs = sited.experimenter.get("/api/v1/studies/small/runs?limit=100").get_json()["runs"]
    assert {each["participant"] for each in runs} == {sited.kiel.code}
    own = f"/studies/small/participants/{sited.kiel.code}"
    assert sited.experimenter.get(own).status_code == HTTPStatus.OK


def test_an_experimenter_of_one_site_changes_nothing_at_another(sited: Sited) -> None:
    run, person = sited.foreign[1], sited.bonn.code
    reason = {"reason": "none"}
    for path, body in (
        (f"runs/{run}/abort", reason),
        (f"runs/{run}/replacement", {}),
        (f"participants/{person}/replacement", reason),
        (f"participants/{person}/withdrawal", {}),
    ):
        answer = sited.experimenter.post(f"/api/v1/studies/small/{path}", json=body)
        assert answer.status_code in (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY), path
        own = path.replace(person, sited.kiel.code).replace(run, given.runs_of(sited.world, sited.kiel)[0].code)
        assert sited.experimenter.post(f"/api/v1/studies/small/{own}", json=body).status_code != HTTPStatus.NOT_FOUND
    assert given.now(sited.world, sited.bonn).state == "enrolled"
    assert sited.experimenter.get("/studies/small/checks").status_code == HTTPStatus.FORBIDDEN


def test_people_are_invited_for_a_site(sited: Sited) -> None:
    path = "/api/v1/studies/small/participants"
    investigator = sited.world.staff(Role.INVESTIGATOR)
    expected: list[tuple[FlaskClient, dict[str, Any], str | None]] = [
        (sited.experimenter, {}, "kiel"),
        (sited.experimenter, {"site": "kiel"}, "kiel"),
        (sited.experimenter, {"site": "bonn"}, None),
        (investigator, {"site": "bonn"}, "bonn"),
        (investigator, {"site": "rome"}, None),
        (investigator, {}, None),
    ]
    for client, body, site in expected:
        answer = client.post(path, json={"count": 1, **body})
        assert answer.status_code == (HTTPStatus.CREATED if site else HTTPStatus.UNPROCESSABLE_ENTITY), answer.text
        if site:
            code = answer.get_json()["participants"][0]["code"]
            with sited.world.database.reading() as session:
                assert session.scalar(select(Participant.site).where(Participant.code == code)) == site
    browser = given_accounts.browser(sited.world, Role.INVESTIGATOR, email="ina@example.org")
    assert "one of kiel, bonn" in browser.get("/studies/small/invite").text
    posted = given_accounts.post(browser, "/studies/small/invite", count="2", site="bonn")
    assert posted.status_code == HTTPStatus.OK


def test_only_an_experimenter_is_limited_to_a_site_and_another_role_takes_the_limit_away(
    small_operated: Operated,
) -> None:
    world = small_operated.world
    given_studies.study(world, protocol=PROTOCOL)
    given_studies.study(world)
    world.account(email="eve@example.org")
    for role, study, site, status in (
        ("analyst", "small", "kiel", 65),
        ("experimenter", "small", "rome", 65),
        ("experimenter", "paper-a3", "kiel", 65),
        ("experimenter", "small", "kiel", 0),
        ("experimenter", "small", "kiel", 0),
        ("experimenter", "small", "bonn", 65),
    ):
        ran = small_operated.run("user", "grant", "eve@example.org", role, "--study", study, "--site", site)
        assert ran.status == status, ran.err
    assert "experimenter of small, kiel" in small_operated.done("user", "list").out
    assert small_operated.run("user", "grant", "eve@example.org", "experimenter", "--study", "small").status == 65
    assert limit(world) == "kiel"
    small_operated.done("user", "grant", "eve@example.org", "reviewer", "--study", "small")
    assert limit(world) == "kiel"
    small_operated.done("user", "grant", "eve@example.org", "investigator", "--study", "small")
    assert limit(world) is None
    invited = small_operated.done("participant", "invite", "small", "--site", "bonn", "--json").json()
    assert len(invited) == 1
    assert small_operated.run("participant", "invite", "small").status == 65


def limit(world: World) -> str | None:
    """The only site that Eve sees."""
    with world.database.reading() as session:
        row = session.scalars(select(Account).where(Account.email == "eve@example.org")).one()
        study = session.scalars(select(Study).where(Study.name == "small")).one()
        return staff_caller(row.id, row.email, row.grants, 0).site_in(study.id)
