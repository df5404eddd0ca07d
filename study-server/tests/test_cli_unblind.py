# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study unblind` needs a custodian's password, a reason and the typed name. Else it reveals nothing."""

import os
import re
from pathlib import Path

import pyotp
import pytest
from sqlalchemy import select, text

import given_studies
from enrolled import enrol
from happe_study.base.clock import now_us
from happe_study.model.audit.models import AuditDetail
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.people import accounts, second_factor
from happe_study.study.people.callers import staff_caller
from happe_study.study.sealing import open_condition
from in_process import Ran
from operated import PASSWORD, Operated
from world import fixed_secrets

CARL = "carl@example.org"
WHY = "every run is complete"
OVERRIDE = "nobody else came"


def account(server: Operated, email: str, *roles: Role) -> None:
    """Make an account with roles in every study. Its owner has chosen the password."""
    with server.world.app.app_context(), server.world.database.writing() as session:
        made = accounts.create(session, None, email, PASSWORD, given=False)
        for role in roles:
            accounts.grant(session, None, made, role, None)


@pytest.fixture
def study(operated: Operated) -> int:
    """Make the locked study `small` with one participant, and a custodian. Returns the study's id."""
    made = given_studies.study(operated.world, "small", protocol=given_studies.small())
    enrol(operated.world, made.id)
    account(operated, CARL, Role.CUSTODIAN)
    return made.id


@pytest.fixture
def password(tmp_path: Path) -> Path:
    """A file with the custodian's password."""
    file = tmp_path / "password"
    file.write_text(PASSWORD)
    return file


def unblind(server: Operated, *options: str | Path, typed: str = "small\n") -> Ran:
    """Unblind the study as the custodian."""
    given = ("--custodian", CARL, "--reason", WHY, *(() if "--run" in options else ("--override", OVERRIDE)))
    return server.run("study", "unblind", "small", *given, *options, typed=typed)


def refused(server: Operated, password: Path) -> str:
    """What the program says to a custodian whom it refuses before its last question. No condition is revealed."""
    done = unblind(server, "--password-file", password)
    assert done.status == os.EX_NOPERM
    assert "to unblind it" not in done.err
    assert conditions(server) == {None}
    return done.err


def conditions(server: Operated) -> set[str | None]:
    """The conditions in the database."""
    with server.world.database.reading() as session:
        return set(session.scalars(select(Run.condition)))


def test_a_custodian_unblinds_a_study(operated: Operated, study: int, password: Path) -> None:
    done = unblind(operated, "--password-file", password, "--json")
    assert done.status == 0, done.err
    assert done.json()["agrees"]
    assert None not in conditions(operated)
    with operated.world.database.reading() as session:
        assert session.get_one(Study, study).state == "unblinded"
        last = session.scalars(select(AuditDetail).order_by(AuditDetail.number.desc())).first()
    assert last is not None
    assert last.detail["by"] == f"staff:{CARL}"
    assert (last.detail["reason"], last.detail["override"]) == (WHY, OVERRIDE)
    lacks = [line.partition("unfinished: ")[2] for line in done.err.splitlines() if "unfinished: " in line]
    assert lacks == done.json()["unfinished"] == last.detail["unfinished"] != []


@pytest.mark.usefixtures("study")
def test_everything_is_asked_for(operated: Operated) -> None:
    typed = f"{CARL}\n{PASSWORD}\n{WHY}\n{OVERRIDE}\nsmall\n"
    done = operated.run("study", "unblind", "small", typed=typed)
    assert (done.status, done.out) == (0, "small is unblinded.\n")
    assert PASSWORD not in done.err


@pytest.mark.usefixtures("study")
def test_wrong_answers_are_asked_for_again(operated: Operated) -> None:
    secret = second_factor.new_secret()
    with operated.world.app.app_context(), operated.world.database.writing() as session:
        carl = accounts.get(session, CARL)
        who = staff_caller(carl.id, CARL, carl.grants, now_us())
        before = pyotp.TOTP(secret).at(now_us() // 1_000_000 - 30)  # works, and leaves the code of now unused
        second_factor.set_up(session, fixed_secrets(), who, carl, second_factor.App(secret, before))
    answers = [
        *("karl@example.org", PASSWORD, CARL, "another password", CARL, PASSWORD),
        *(
            "000",
            pyotp.TOTP(secret).at(now_us() // 1_000_000),
            "because",
            WHY,
            "",
            "short",
            OVERRIDE,
            "large",
            "small",
            "",
        ),
    ]
    done = operated.run("study", "unblind", "small", typed="\n".join(answers))
    assert (done.status, done.out) == (0, "small is unblinded.\n"), done.err
    assert done.err.count("has this address and password") == 2
    assert "the app does not show this code now" in done.err
    assert done.err.count("must have 10 to 1000 characters") == 2
    assert "this is not small; nothing is unblinded yet" in done.err


@pytest.mark.usefixtures("study")
def test_one_run_is_told_to_the_custodian_and_stored_nowhere(operated: Operated, password: Path) -> None:
    with operated.world.database.reading() as session:
        run = session.scalars(select(Run)).first()
    assert run is not None
    label = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed).label
    done = unblind(operated, "--run", run.code, "--password-file", password, typed=f"{run.code}\n")
    assert (done.status, done.out) == (0, f"{run.code}: {label}\n")
    assert conditions(operated) == {None}
    assert unblind(operated, "--override", OVERRIDE, "--run", run.code).status == 64


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    ("typed", "status"), [("Small\n", 130), ("small \n", 130), ("\n\nlarge\n", 130), ("", 130), ("small", 0)]
)
def test_the_name_must_be_typed_out(operated: Operated, password: Path, typed: str, status: int) -> None:
    assert unblind(operated, "--password-file", password, typed=typed).status == status
    assert (None in conditions(operated)) == (status != 0)


@pytest.mark.usefixtures("study")
def test_no_other_role_unblinds(operated: Operated, password: Path) -> None:
    role = Role.ADMINISTRATOR
    account(operated, f"{role}@example.org", role)
    done = operated.run(
        *("study", "unblind", "small", "--custodian", f"{role}@example.org", "--reason", WHY),
        *("--password-file", password),
        typed="small\n",
    )
    assert done.status == os.EX_NOPERM
    assert "to unblind it" not in done.err  # nothing else was asked
    assert "is not a custodian of small" in done.err
    assert conditions(operated) == {None}


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE accounts SET active = :no",
        "UPDATE accounts SET password_given = :yes",
        "UPDATE accounts SET password = ''",
    ],
)
def test_an_account_that_can_not_sign_in_unblinds_nothing(operated: Operated, password: Path, change: str) -> None:
    with operated.world.database.writing() as session:
        values = {name: flag for name, flag in (("no", False), ("yes", True)) if f":{name}" in change}
        session.execute(text(change), values)
    refused(operated, password)


@pytest.mark.usefixtures("study")
def test_a_wrong_password_unblinds_nothing(operated: Operated, password: Path) -> None:
    password.write_text(PASSWORD.upper())
    refused(operated, password)


@pytest.mark.usefixtures("study")
def test_a_custodian_of_today_waits_at_the_command_line_too(operated: Operated, password: Path) -> None:
    operated.configure(custodian_wait_hours=24)
    assert "You may unblind this study from" in refused(operated, password)
    status = operated.done("study", "status", "small")
    assert re.search(rf"custodian +{CARL} since .*, unblinds from .* on", status.out)
