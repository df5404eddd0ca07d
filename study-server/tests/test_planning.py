# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers plan a study in pieces, with the same answer as the command, which needs no server."""

import re
from http import HTTPStatus
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

import given_jobs
import given_studies
from given_accounts import browser, post
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.jobs.models import JobState
from happe_study.model.rights import Role
from happe_study.results.analysis.plan import ASSUMPTIONS, Plan
from operated import happe_server
from world import World

PROTOCOL = given_studies.small() + "\n[analysis]\nmargin = 0.25\n"
PAGE = "/studies/small/protocol"
FORM = {each.name: str(each.default) for each in ASSUMPTIONS} | {"sizes": "8, 40", "studies": "4100"}
OPTIONS = ("--participants", "8", "--participants", "40", "--studies", "4100")
BATCHES = 6  # three of each size


def planner(world: World, protocol: str = PROTOCOL, role: Role = Role.CUSTODIAN) -> FlaskClient:
    """A browser of somebody with a role in a new study."""
    study = given_studies.study(world, protocol=protocol)
    return browser(world, role, study_id=study.id)


def ask(client: FlaskClient, **changes: str) -> int:
    """Send the form for a plan, and return the status."""
    return post(client, f"{PAGE}/plan", page=PAGE, **FORM | changes).status_code


def printed(folder: Path, *options: str, protocol: str = PROTOCOL) -> str:
    """The output of the command, which gets only the protocol."""
    file = folder / "protocol.toml"
    file.write_text(protocol)
    return happe_server("plan", file, *options, "--json").out


def test_a_plan_is_the_commands(world: World, tmp_path: Path) -> None:
    custodian = planner(world)
    assumed = {"minority": "0.02", "dropout": "0.2", "saving": "0.22", "difference": "-0.02"}
    expected = printed(tmp_path, *OPTIONS, *(word for name in assumed for word in (f"--{name}", assumed[name])))
    # When a worker makes the plan
    assert ask(custodian, **assumed) == HTTPStatus.SEE_OTHER
    assert "It waits for a free worker" in custodian.get(f"{PAGE}/plan").text
    assert given_jobs.work_off(world) == [JobState.DONE]
    # Then it equals the command's output to the byte, and the page has it
    answer = custodian.get(f"{PAGE}/plan/1.json")
    assert (answer.text, answer.content_type) == (expected, "application/json")
    page = custodian.get(f"{PAGE}/plan").text
    assert (page.count("<h2 id="), "minority 0.02, dislike 2" in page) == (1, True)
    assert re.search(r'row" class="number">40</th><td class="number">32</td><td class="number">\d+\.\d %', page)
    # And the job gets the same as the command, and no more: numbers of the protocol and of the form
    asked = given_jobs.job(world)
    assert (set(asked.arguments), asked.steps) == (set(Plan.__dataclass_fields__), BATCHES)
    assert "small" not in str(asked.arguments)
    with world.database.reading() as session:
        logged = session.scalars(select(AuditDetail.detail).join(AuditEntry).where(AuditEntry.action == "plan.asked"))
        assert [each["job"] for each in logged] == [1]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("sizes", "12, x", "Must be a whole number from 5 to 1000."),
        ("sizes", "4", "Must be a whole number from 5 to 1000."),
        ("sizes", "12 " * 11, "At most 10 numbers."),
        ("studies", "0", "Must be a whole number from 1 to 100000."),
        ("studies", "9" * 5000, "Must have 1 to 200 characters."),
        ("studies", "\N{SUPERSCRIPT TWO}", "Must be a whole number from 1 to 100000."),
        ("saving", "nan", "Must be a number from -1 to 0.9."),
        ("spread", "1e999", "Must be a number from 0.001 to 1."),
        ("between", "", "Fill this in."),
    ],
)
def test_a_form_that_makes_no_sense_says_where_and_asks_for_nothing(
    world: World, field: str, value: str, said: str
) -> None:
    answer = post(planner(world), f"{PAGE}/plan", page=PAGE, **FORM | {field: value})
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert f'id="{field}-error">{said}<' in answer.text
    assert given_jobs.work_off(world) == []


def test_a_form_that_must_wait_for_another_plan_keeps_what_was_typed(world: World) -> None:
    analyst = planner(world)
    assert ask(analyst) == HTTPStatus.SEE_OTHER
    answer = post(analyst, f"{PAGE}/plan", page=PAGE, **FORM | {"sizes": "12, 24"})
    assert (answer.status_code, 'value="12, 24"' in answer.text) == (HTTPStatus.CONFLICT, True)


def test_what_cannot_be_planned_says_why(world: World, tmp_path: Path) -> None:
    # Given one waiting plan: no other begins
    analyst = planner(world, role=Role.ANALYST)
    assert [ask(analyst, difference="9"), ask(analyst)] == [HTTPStatus.SEE_OTHER, HTTPStatus.CONFLICT]
    # When its ratings cannot differ so much, it fails like the command
    assert given_jobs.work_off(world) == [JobState.FAILED]
    assert "no shift of these ratings changes their mean by 9.0" in analyst.get(f"{PAGE}/plan").text
    assert analyst.get(f"{PAGE}/plan/1.json").status_code == HTTPStatus.NOT_FOUND
    # And the server refuses protocols that lack something at once
    for name, more, said in (
        ("bare", "", "The protocol has no section [analysis] with the margin"),
        ("wide", "[rating]\nlowest = 1\nhighest = 7\n[analysis]\nmargin = 0.25\n", "rating: has 7 points"),
    ):
        given_studies.study(world, protocol=f"{given_studies.small(name)}\n{more}")
        someone = browser(world, Role.EXPERIMENTER, email=f"{name}@example.org")
        answer = post(someone, f"/studies/{name}/protocol/plan", page=PAGE, **FORM)
        assert (answer.status_code, said in answer.text) == (HTTPStatus.CONFLICT, True)
    tiny = given_studies.small("tiny", participants=1, scheme="paper") + "\n[analysis]\nmargin = 0.25\n"
    file = tmp_path / "tiny.toml"
    file.write_text(tiny)
    ran = happe_server("plan", file)
    assert (ran.status, "three times as many are fewer than 5" in ran.err) == (65, True)
