# SPDX-License-Identifier: GPL-2.0-or-later
"""A server, a worker and the commands refuse secrets that do not belong to the database."""

import os

import pytest
from sqlalchemy import text

import given_studies
from happe_study.base import fingerprints
from happe_study.base.config import SECRET_NAMES, ConfigError
from operated import Operated
from world import fixed_secrets


def exchange(server: Operated, name: str) -> None:
    """Replace a secret by another server's."""
    (server.data / f"secrets/{name}.key").write_text(getattr(fixed_secrets("another"), name).hex())


@pytest.mark.parametrize("command", [("run",), ("worker",), ("user", "list"), ("backup", "b")])
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_nothing_works_with_another_servers_secret(operated: Operated, name: str, command: tuple[str, ...]) -> None:
    operated.configure(listen="127.0.0.1:0", metrics_listen="off")
    exchange(operated, name)
    ran = operated.run(*command)
    assert ran.status == os.EX_CONFIG, ran.err
    assert f"{name}.key: the server of this database has another one" in ran.err
    assert "copy the folder `secrets` from another server" in ran.err
    assert fixed_secrets("another").session.hex() not in ran.err


def test_check_says_whose_secrets_are_missing(operated: Operated) -> None:
    exchange(operated, "allocation")
    finding = next(each for each in operated.run("check", "--json").json() if each["verdict"] == "fail")
    assert (finding["what"], "another server" in finding["advice"]) == ("secrets", True)


def test_a_secret_that_was_lost_is_replaced_and_the_log_says_so(operated: Operated) -> None:
    given_studies.study(operated.world)
    exchange(operated, "session")
    exchange(operated, "password")
    operated.done("migrate", "--new-secrets")
    operated.done("user", "list")
    assert "secrets.replaced" in operated.world.actions()


def test_an_allocation_key_is_not_replaced_while_a_study_is_sealed_with_it(operated: Operated) -> None:
    given_studies.study(operated.world)
    exchange(operated, "allocation")
    refused = operated.run("migrate", "--new-secrets")
    assert refused.status == os.EX_CONFIG
    assert "allocation.key does not open the seal of paper-a3" in refused.err
    with pytest.raises(ConfigError):
        fingerprints.require(operated.world.database, fixed_secrets("another"))


def test_fingerprints_that_somebody_removed_are_missed(operated: Operated) -> None:
    with operated.world.database.writing() as session:
        session.execute(text("DELETE FROM secret_fingerprints WHERE name = 'session'"))
    assert "session.key" in operated.run("user", "list").err
