# SPDX-License-Identifier: GPL-2.0-or-later
"""A custodian who got the role or a password after the study's lock must wait, and everybody can see it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

import given_accounts
import given_participants as people
import given_studies
from given_accounts import PASSWORD, browser, post
from happe_study.base.clock import now_us
from happe_study.model.accounts import Account, Grant
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.people import accounts
from happe_study.study.studies import custodians
from world import World

CARL = "carl@example.org"
HOUR_US = 3600 * 1_000_000
ORDER = {"reason": "every run is complete", "confirmation": "small"}
UNBLINDING = "/studies/small/unblinding"
FROM = re.compile(r"You may unblind this study from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC on")


@pytest.fixture
def waiting_world(tmp_path: Path, database_url: str) -> Iterator[World]:
    """A server on which new custodians must wait for a day."""
    made = World(tmp_path, database_url, custodian_wait_hours=24)
    yield made
    made.close()


def study(world: World) -> int:
    """Make the locked study `small` with one participant, and return its id."""
    made = given_studies.study(world, protocol=given_studies.small())
    people.participant(world, made)
    return made.id


def custodian(world: World) -> FlaskClient:
    """A program with a fresh token of a custodian of every study."""
    return world.client(world.account(Role.CUSTODIAN, email=CARL))


def hours_ago(world: World, hours: float, *, given: bool = False) -> None:
    """Change the time at which the role (or with `given` the password) was given."""
    moment = now_us() - int(hours * HOUR_US)
    with world.database.writing() as session:
        if given:
            session.execute(update(Account).where(Account.email == CARL).values(password_given_us=moment))
        else:
            session.execute(update(Grant).where(Grant.role == Role.CUSTODIAN).values(granted_us=moment))


def lock_hours_ago(world: World, hours: float) -> None:
    """Change the time of the study's lock."""
    with world.database.writing() as session:
        session.execute(update(Study).values(locked_us=now_us() - int(hours * HOUR_US)))


def is_unblinded(world: World) -> bool:
    """Whether the database has conditions."""
    with world.database.reading() as session:
        return None not in set(session.scalars(select(Run.condition)))


def test_who_was_custodian_before_the_lock_unblinds_at_once(waiting_world: World) -> None:
    client = custodian(waiting_world)
    study(waiting_world)
    assert client.post(f"/api/v1{UNBLINDING}", json=ORDER).status_code == 200
    assert is_unblinded(waiting_world)


def test_who_became_custodian_after_the_lock_unblinds_neither_the_study_nor_a_run(waiting_world: World) -> None:
    study(waiting_world)
    client = custodian(waiting_world)
    with waiting_world.database.reading() as session:
        code = session.scalars(select(Run.code).limit(1)).one()
    for path, name in ((f"/api/v1{UNBLINDING}", "small"), (f"/api/v1/studies/small/runs/{code}/unblinding", code)):
        answer = client.post(path, json=ORDER | {"confirmation": name})
        assert (answer.status_code, answer.get_json()["type"]) == (403, "urn:happe:problem:custodian-waits")
        assert FROM.match(answer.get_json()["detail"])
    assert not is_unblinded(waiting_world)


@pytest.mark.parametrize(("hours", "status"), [(23.99, 403), (24.01, 200)])
def test_a_later_custodian_waits_for_a_day(waiting_world: World, hours: float, status: int) -> None:
    study(waiting_world)
    lock_hours_ago(waiting_world, 100)
    client = custodian(waiting_world)
    hours_ago(waiting_world, hours)
    assert client.post(f"/api/v1{UNBLINDING}", json=ORDER).status_code == status
    assert is_unblinded(waiting_world) == (status == 200)


def test_the_pages_refuse_too_and_say_from_when(waiting_world: World) -> None:
    study(waiting_world)
    client = browser(waiting_world, Role.CUSTODIAN)
    answer = post(client, f"{UNBLINDING}/study", **ORDER)
    assert (answer.status_code, bool(FROM.search(answer.text))) == (403, True)
    with waiting_world.database.reading() as session:
        code = session.scalars(select(Run.code).limit(1)).one()
    answer = post(client, f"{UNBLINDING}/run", run=code, reason=ORDER["reason"], confirmation=code)
    assert (answer.status_code, bool(FROM.search(answer.text))) == (403, True)
    assert not is_unblinded(waiting_world)


@pytest.mark.parametrize(("hours", "status"), [(1, 403), (24.01, 200), (200, 200)])
def test_who_was_given_a_password_after_the_lock_waits_though_they_changed_it(
    waiting_world: World, hours: float, status: int
) -> None:
    # Given a custodian from before the lock
    client = custodian(waiting_world)
    study(waiting_world)
    lock_hours_ago(waiting_world, 100)
    hours_ago(waiting_world, 150)

    # When
    hours_ago(waiting_world, hours, given=True)

    # Then
    assert client.post(f"/api/v1{UNBLINDING}", json=ORDER).status_code == status


def test_a_password_that_an_administrator_gives_is_noted_and_one_s_own_is_not(world: World) -> None:
    email = given_accounts.account(world)
    with world.app.app_context(), world.database.writing() as session:
        account = accounts.get(session, email)
        assert account.password_given_us is None
        accounts.set_password(session, None, account, PASSWORD, given=True)
        given_us = account.password_given_us
        assert given_us
        accounts.set_password(session, None, account, PASSWORD, given=False)
        assert account.password_given_us == given_us
        made = accounts.create(session, None, "eve@example.org", PASSWORD, given=True)
        assert made.password_given_us


def shown(client: FlaskClient) -> list[dict[str, Any]]:
    """The custodians in a study's status."""
    found: list[dict[str, Any]] = client.get("/api/v1/studies/small/status").get_json()["custodians"]
    return found


def test_everybody_who_reads_the_study_sees_who_is_custodian_since_when_and_who_waits(waiting_world: World) -> None:
    waiting_world.account(Role.CUSTODIAN, email="early@example.org")
    study_id = study(waiting_world)
    waiting_world.account(Role.CUSTODIAN, study_id=study_id, email=CARL)
    for role in set(Role) - {Role.CUSTODIAN}:
        early, late = sorted(shown(waiting_world.staff(role)), key=lambda one: one["since_us"])
        assert (early["email"], early["unblinds_from_us"], early["active"]) == ("early@example.org", None, True)
        assert (late["email"], late["unblinds_from_us"] - late["since_us"]) == (CARL, 24 * HOUR_US)
    page = browser(waiting_world, Role.EXPERIMENTER).get("/studies/small").text
    assert re.search(rf"{CARL}</th>.*?<td>from <time", page, re.DOTALL)
    assert re.search(r"early@example\.org</th><td><time [^>]+>[^<]+</time></td>\s*<td>now", page)


def test_a_disabled_account_is_seen_and_no_way_to_wait_unseen(waiting_world: World) -> None:
    study(waiting_world)
    custodian(waiting_world)
    with waiting_world.database.writing() as session:
        accounts.disable(session, None, accounts.get(session, CARL))
    (carl,) = shown(waiting_world.staff(Role.AUDITOR))
    assert (carl["email"], carl["active"]) == (CARL, False)


def test_before_the_lock_nobody_waits_and_who_locks_sees_who_could_unblind(waiting_world: World) -> None:
    given_studies.study(waiting_world, protocol=given_studies.small(), locked=False)
    custodian(waiting_world)
    assert shown(waiting_world.staff(Role.ANALYST))[0]["unblinds_from_us"] is None
    assert CARL in browser(waiting_world, Role.INVESTIGATOR).get("/studies/small/lock").text


def test_a_custodian_who_came_after_the_page_was_opened_is_not_locked_in_unseen(waiting_world: World) -> None:
    lock, client = "/studies/small/lock", browser(waiting_world, Role.INVESTIGATOR)
    given_studies.study(waiting_world, protocol=given_studies.small(), locked=False)
    waiting_world.account(Role.CUSTODIAN, email="early@example.org")
    seen = people.hidden(client.get(lock).text)
    custodian(waiting_world)
    refused = client.post(lock, data=seen | {"sure": "yes"})
    assert (refused.status_code, CARL in refused.text) == (409, True)
    assert shown(waiting_world.staff(Role.ANALYST))[0]["unblinds_from_us"] is None
    assert client.post(lock, data=people.hidden(refused.text) | {"sure": "yes"}).status_code == 303


def test_a_role_that_is_taken_and_given_again_counts_from_the_second_time(waiting_world: World) -> None:
    custodian(waiting_world)
    study_id = study(waiting_world)
    with waiting_world.database.writing() as session:
        account = accounts.get(session, CARL)
        accounts.revoke(session, None, account, Role.CUSTODIAN, None)
        accounts.grant(session, None, account, Role.CUSTODIAN, None)
        session.flush()
        (carl,) = custodians.of_study(session, session.get_one(Study, study_id), 24)
    assert carl.waits


def test_the_longest_held_of_several_grants_counts(waiting_world: World) -> None:
    custodian(waiting_world)
    study_id = study(waiting_world)
    with waiting_world.database.writing() as session:
        found = session.get_one(Study, study_id)
        accounts.grant(session, None, accounts.get(session, CARL), Role.CUSTODIAN, found)
        session.flush()
        (carl,) = custodians.of_study(session, found, 24)
    assert not carl.waits
