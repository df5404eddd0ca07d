# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands about people, studies, devices and the audit log, on both databases."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import OperationalError

import given_studies
from given_studies import hold_roles
from happe_cli.commands import summary
from happe_study.base.config import Config
from happe_study.cli.errors import meaning
from happe_study.cli.program import program
from happe_study.model.audit.models import AuditDetail
from happe_study.model.rights import Role
from happe_study.model.studies import Slot, Study
from happe_study.operations import migrations, owner
from happe_study.study.people import accounts
from happe_study.study.sealing import open_slot
from happe_study.study.studies.services import seed_of
from operated import PASSWORD, SOURCES, Operated, happe_server
from patience import PATIENCE_S
from world import fixed_secrets

ANA = "ana@example.org"


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    """A protocol in a file."""
    file = tmp_path / "small.toml"
    file.write_text(given_studies.small())
    return file


@pytest.fixture
def locked(operated: Operated) -> Operated:
    """A server with the locked study `small`."""
    given_studies.study(operated.world, protocol=given_studies.small())
    return operated


def add(server: Operated, email: str = ANA) -> None:
    """Make an account."""
    server.done("user", "add", email, "--password-file", "-", typed=f"{PASSWORD}\n")


def chosen(server: Operated, email: str = ANA) -> None:
    """Mark an account's password as chosen by its owner."""
    with server.world.database.writing() as session:
        accounts.get(session, email).password_given = False


def audited(server: Operated) -> list[str]:
    """The person and the action of the last entry."""
    with server.world.database.reading() as session:
        details = session.scalars(select(AuditDetail).order_by(AuditDetail.number)).all()
    return [detail.detail["by"] for detail in details]


def commands(group: click.Group, *path: str) -> Iterator[tuple[click.Command, list[str]]]:
    """All commands below a group, with the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        yield command, [*path, name]
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)


def test_every_command_helps_with_its_summary_and_examples(subtests: pytest.Subtests) -> None:
    for command, words in commands(program):
        with subtests.test(" ".join(words)):
            ran = happe_server(*words, "--help")
            assert (ran.status, ran.err) == (0, "")
            assert summary(command) in ran.out
            assert "Examples:\n  " in ran.out
            assert words[-1] != words[0] or summary(command) in " ".join(happe_server("--help").out.split())


def test_a_full_disk_is_an_error() -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES)}
    command = [sys.executable, "-c", "from happe_study.cli import main; main()", "--help"]
    with Path("/dev/full").open("wb") as full:
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S, env=environment
        )
    assert ran.returncode == os.EX_IOERR
    assert ran.stderr == b"happe-server: standard output: No space left on device; make room and try again\n"


def test_systemd_waits_longer_than_the_server_takes_to_stop() -> None:
    unit = (SOURCES.parents[1] / "packaging/systemd/happe-server.service").read_text()
    assert int(re.findall(r"TimeoutStopSec=(\d+)s", unit)[0]) > Config.model_fields["stop_seconds"].default


def test_a_command_leaves_the_file_mode_mask_of_a_process_that_goes_on(operated: Operated) -> None:
    before = os.umask(0o022)
    try:
        operated.done("user", "list")
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_an_account_gets_and_loses_roles(locked: Operated) -> None:
    add(locked)
    locked.world.account(Role.ADMINISTRATOR, email="zoe@example.org")  # the last one could not lose the role
    for role in Role:
        for place, study, shown in ((("--study", "small"), "small", "small"), ((), None, "every study")):
            locked.done("user", "grant", ANA, role, *place)
            assert locked.done("user", "list").out.startswith(f"{ANA}: {role} of {shown}\n")
            ana, _zoe = locked.done("user", "list", "--json").json()
            assert ana == {"email": ANA, "active": True, "grants": [{"role": role, "study": study}]}
            locked.done("user", "revoke", ANA, role, *place)


def test_a_disabled_account_is_shown_so_and_comes_back(operated: Operated) -> None:
    add(operated)
    operated.done("user", "disable", ANA)
    assert operated.done("user", "list").out == f"{ANA} (disabled): no role\n"
    operated.done("user", "enable", ANA)
    assert operated.done("user", "list").out == f"{ANA}: no role\n"


def test_a_token_opens_the_interface_with_the_accounts_rights(locked: Operated) -> None:
    add(locked)
    locked.done("user", "grant", ANA, "investigator", "--study", "small")
    assert "must first sign in" in locked.run("user", "token", ANA).err
    chosen(locked)
    token = locked.done("user", "token", ANA, "--days", "1").out.strip()
    assert locked.world.client(token).get("/api/v1/studies/small").status_code == 200
    assert locked.done("user", "token", ANA, "--json").json()["days"] == 30


def test_another_password_is_one_that_the_owner_must_change(operated: Operated) -> None:
    add(operated)
    operated.done("user", "password", ANA, "--password-file", "-", typed="another long password\n")
    with operated.world.database.reading() as session:
        account = accounts.get(session, ANA)
        assert account.password_given


def test_the_audit_log_names_the_user_of_the_operating_system(operated: Operated, protocol: Path) -> None:
    operated.done("study", "create", protocol)
    hold_roles(operated.world, "small")
    operated.done("study", "lock", "small", "--yes")
    add(operated)
    assert set(audited(operated)) == {owner.operator()}
    assert re.fullmatch(r"server:.+", owner.operator())


def test_a_study_goes_from_its_protocol_to_its_lock(operated: Operated, protocol: Path) -> None:
    assert operated.done("study", "check", protocol).out == f"{protocol}: the protocol of small is valid.\n"
    assert operated.done("study", "create", protocol, "--json").json()["state"] == "draft"
    hold_roles(operated.world, "small")
    said = operated.done("study", "lock", "small", typed="y\n")
    assert "Lock small?" in said.err
    with operated.world.database.reading() as session:
        study = session.scalars(select(Study)).one()
    assert study.commitment
    assert study.commitment in said.out
    assert [each["state"] for each in operated.done("study", "list", "--json").json()] == ["locked"]
    assert operated.done("study", "list").out.startswith("small  locked  20")


def test_a_study_is_not_locked_without_a_yes(operated: Operated, protocol: Path) -> None:
    operated.done("study", "create", protocol)
    hold_roles(operated.world, "small")
    assert operated.run("study", "lock", "small", typed="n\n").status == 130
    assert operated.done("study", "list", "--json").json()[0]["state"] == "draft"


@pytest.mark.parametrize("name", ["crossover", "extended", "paper-a3", "paper-a5"])
def test_an_unedited_protocol_is_not_locked_and_says_what_is_to_be_filled_in(
    operated: Operated, tmp_path: Path, name: str
) -> None:
    # given
    file = tmp_path / f"{name}.toml"
    file.write_text(given_studies.text(name))
    lines = file.read_text().splitlines()
    group = next(number for number, line in enumerate(lines, start=1) if "NAME OF THE GROUP" in line)
    # when
    said = operated.done("study", "check", file).out.splitlines()
    operated.done("study", "create", file)
    refused = operated.run("study", "lock", name, "--yes")
    # then
    assert said[0] == f"{file}: the protocol of {name} is valid."
    assert f"{file}:{group}: NAME OF THE GROUP must still be filled in" in said
    assert said[-1] == "The study can't be locked before that."
    assert refused.status == os.EX_DATAERR
    assert f"happe-server: {file}:{group}: NAME OF THE GROUP must still be filled in\n" in refused.err
    for role in ("investigator", "custodian"):
        grant = f"happe-server user grant EMAIL {role} --study {name}"
        assert f"happe-server: {role}: no account has this role yet: {grant}\n" in refused.err
    assert operated.done("study", "list", "--json").json()[0]["state"] == "draft"
    # a protocol from a pipe has lines, but no file name
    operated.done("study", "create", "-", typed=file.read_text())
    assert f"happe-server: line {group} of the protocol: NAME" in operated.run("study", "lock", name, "--yes").err
    # the search no longer finds a part once it is filled in, whatever other words have capitals
    to_fill_in = operated.done("study", "check", file, "--json").json()["to_fill_in"]
    text = file.read_text()
    for each in to_fill_in:
        text = re.sub(each["words"].replace(" ", r"\s"), "a Person", text, count=1)
    written = " ".join(line for line in text.splitlines() if not line.startswith("#"))
    assert not re.findall(r"\b[A-Z]{2,}", written), "it shows all of them"
    text = text.replace("a Person", "IBM and the ETH, PLACE DE LA NATION")
    file.write_text(text)
    assert operated.done("study", "check", file).out == f"{file}: the protocol of {name} is valid.\n"
    operated.done("study", "create", file)
    assert operated.run("study", "lock", name, "--yes").err.count("\n") == 3
    hold_roles(operated.world, name)
    operated.done("study", "lock", name, "--yes")


def test_one_placeholder_that_is_left_keeps_a_study_from_being_locked(operated: Operated, tmp_path: Path) -> None:
    # given
    file = tmp_path / "crossover.toml"
    file.write_text(given_studies.text("crossover"))
    shipped = [each["words"] for each in operated.done("study", "check", file, "--json").json()["to_fill_in"]]
    assert len(shipped) == len(set(shipped)) > 10
    operated.done("study", "create", file)
    hold_roles(operated.world, "crossover")
    for left in range(len(shipped)):
        text = given_studies.text("crossover")
        for number, words in enumerate(shipped):  # in order, because the first NAME is in NAME OF THE GROUP
            text = re.sub(words.replace(" ", r"\s"), "@" if number == left else "a Person", text, count=1)
        file.write_text(text.replace("@", shipped[left]))
        operated.done("study", "create", file)
        # when
        refused = operated.run("study", "lock", "crossover", "--yes")
        # then
        assert refused.status == os.EX_DATAERR
        assert re.search(rf"{file}:\d+: {shipped[left]} must still be filled in\n", refused.err)
        assert refused.err.count("must still be filled in") == 1
    assert operated.done("study", "list", "--json").json()[0]["state"] == "draft"


def test_a_bad_protocol_is_refused_by_its_lines(operated: Operated, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(given_studies.small(participants=5))
    for command in ("check", "create"):
        ran = operated.run("study", command, file)
        assert ran.status == os.EX_DATAERR
        assert re.match(rf"happe-server: {file}:\d+: participants: ", ran.err)
    assert operated.done("study", "list", "--json").json() == []


def test_a_protocol_may_come_from_standard_input_and_needs_no_server(tmp_path: Path) -> None:
    ran = happe_server("--config", tmp_path / "none.toml", "study", "check", "-", typed=given_studies.small())
    assert (ran.status, ran.err) == (0, "")


def test_the_allocation_is_computed_anew_from_what_is_published(locked: Operated, protocol: Path) -> None:
    # Given the sealed allocation, and the values that the server publishes at unblinding
    key = fixed_secrets().allocation
    with locked.world.database.reading() as session:
        made = session.scalars(select(Study)).one()
        seed, salt = (secret.hex() for secret in seed_of(made, fixed_secrets()))
        slots = session.scalars(select(Slot).order_by(Slot.position)).all()
        sealed = [open_slot(key, ("small", "", slot.position), slot.plan_sealed) for slot in slots]

    # When anybody computes the allocation without a server
    command = ("study", "allocation", protocol, "--commitment", made.commitment or "")
    ran = happe_server(*command, "--seed", seed, "--salt", salt, "--json")

    # Then
    computed = [[(run["application"], run["condition"]) for run in slot["runs"]] for slot in ran.json()["slots"]]
    assert computed == [[(run.application, run.condition.label) for run in slot] for slot in sealed]
    lines = happe_server(*command, "--seed", seed, "--salt", salt).out.splitlines()
    assert len(lines) == sum(map(len, computed))
    assert lines[0].split() == ["slot", "1", "run", "1", *computed[0][0]]
    other = happe_server(*command, "--seed", salt, "--salt", seed)
    assert (other.status, other.out) == (1, "")
    assert "not the ones committed to" in other.err
    assert happe_server(*command, "--seed", seed[1:], "--salt", salt).status == os.EX_USAGE


def test_the_status_of_a_study_counts_nothing_by_condition(locked: Operated) -> None:
    locked.done("participant", "invite", "small", "--count", "2")
    status = locked.done("study", "status", "small")
    assert "slots         0 of 4 taken" in status.out
    assert "participants  2 invited" in status.out
    for condition in ("ondemand", "HAPPE"):
        assert condition not in status.out + locked.done("study", "status", "small", "--json").out


def test_an_invitation_is_a_link_that_works(locked: Operated) -> None:
    made = locked.done("participant", "invite", "small", "--count", "2", "--json").json()
    assert len({each["participant"] for each in made}) == 2
    path = made[0]["link"].removeprefix("http://127.0.0.1:8080")
    assert locked.world.client().get(path).status_code == 200


def test_nobody_is_invited_to_a_draft(operated: Operated, protocol: Path) -> None:
    operated.done("study", "create", protocol)
    refused = operated.run("participant", "invite", "small")
    assert refused.status == os.EX_DATAERR
    assert "not locked yet" in refused.err


def test_a_device_enrols_is_listed_revoked_and_enrols_anew(locked: Operated) -> None:
    made = locked.done("device", "enrol", "small", "bench", "--kind", "meter", "--json").json()
    enrolled = locked.world.client().post("/api/v1/devices/enrol", json={"code": made["enrolment_code"]})
    assert enrolled.status_code in (200, 201), enrolled.text
    listed = locked.done("device", "list", "small", "--json").json()
    assert [(each["name"], each["state"]) for each in listed] == [("bench", "enrolled")]
    assert locked.run("device", "enrol", "small", "bench", "--kind", "meter").status == os.EX_DATAERR
    locked.done("device", "revoke", "small", made["device"])
    assert locked.done("device", "list", "small", "--json").json()[0]["state"] == "revoked"
    again = locked.done("device", "enrol", "small", "bench", "--kind", "meter", "--json").json()
    assert again["device"] == made["device"]
    assert again["enrolment_code"] != made["enrolment_code"]
    assert "waits for its code" in locked.done("device", "list", "small").out


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_blinded_study_is_exported_without_what_could_tell(locked: Operated, tmp_path: Path, form: str) -> None:
    locked.done("participant", "invite", "small", "--count", "2")
    made = locked.done("study", "export", "small", "--out", tmp_path / "out", "--format", form, "--json")
    written = {each["table"]: each["file"] for each in made.json()}
    assert {"participants", "runs", "dictionary"} <= written.keys()
    assert not {"samples", "profiles"} & written.keys()
    assert "left out until small is unblinded" in made.err
    assert sorted(written.values()) == sorted(str(path) for path in (tmp_path / "out").iterdir())
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()} == {0o600}


def test_an_export_overwrites_nothing_and_tells_what_there_is(locked: Operated, tmp_path: Path) -> None:
    table = ("study", "export", "small", "--out", tmp_path / "out", "--table", "runs")
    locked.done(*table)
    refused = locked.run(*table)
    assert refused.status == os.EX_CANTCREAT
    assert "exists already" in refused.err
    unknown = locked.run("study", "export", "small", "--out", tmp_path / "out", "--table", "secrets")
    assert unknown.status == os.EX_USAGE
    assert "there are participants, runs" in unknown.err
    closed = locked.run("study", "export", "small", "--out", tmp_path / "out", "--table", "samples")
    assert closed.status == os.EX_DATAERR
    assert "until the study is unblinded" in closed.err


def test_the_audit_log_is_verified_against_a_noted_head(locked: Operated) -> None:
    noted = locked.done("audit", "head").out.strip()
    add(locked)
    assert locked.done("audit", "verify", "--expect", noted).out.startswith("The audit log is complete: 3 entries.")
    other = noted[:-1] + ("0" if noted[-1] != "0" else "1")
    refused = locked.run("audit", "verify", "--expect", other, "--json")
    assert refused.status == 1
    assert refused.json()["faults"] == [{"number": 2, "fault": "noted-head"}]
    assert "audit entry 2: noted-head" in refused.err


def test_the_interface_is_printed_as_openapi(operated: Operated) -> None:
    document = operated.done("openapi").json()
    assert document["openapi"].startswith("3.")
    assert "/api/v1/devices/enrol" in document["paths"]


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        (["user", "grant", "nobody@example.org", "auditor"], os.EX_NOINPUT, "nobody@example.org: no such account"),
        (["user", "password", "nobody@example.org"], os.EX_NOINPUT, "nobody@example.org: no such account"),
        (["user", "grant", ANA, "king"], os.EX_USAGE, "'king' is not one of"),
        (["user", "add", "nobody"], os.EX_DATAERR, "nobody: An email address must have an @-sign"),
        (["user", "add", ANA, "--password-file", "/no/such"], os.EX_NOINPUT, "/no/such: No such file or directory"),
        (["user", "token", ANA, "--days", "0"], os.EX_USAGE, "--days"),
        (["study", "lock", "nothing", "--yes"], os.EX_NOINPUT, "nothing: no such study; `happe-server study list`"),
        (["study", "status", "nothing"], os.EX_NOINPUT, "nothing: no such study"),
        (["study", "check", "/no/such"], os.EX_NOINPUT, "/no/such: No such file or directory"),
        (["device", "enrol", "nothing", "x", "--kind", "meter"], os.EX_NOINPUT, "nothing: no such study"),
        (["device", "enrol", "nothing", "x"], os.EX_USAGE, "Missing option '--kind'"),
        (["participant", "invite", "nothing"], os.EX_NOINPUT, "nothing: no such study"),
        (["participant", "invite", "x", "--count", "0"], os.EX_USAGE, "--count"),
        (["audit", "verify", "--expect", "x"], os.EX_USAGE, "a head is noted as NUMBER:SHA256"),
        (["restore", "/no/such"], os.EX_NOINPUT, "/no/such"),
        ([], os.EX_USAGE, "--help"),
        (["studdy"], os.EX_USAGE, "unknown command 'studdy'; did you mean 'study'?"),
        (["check", "--nothing"], os.EX_USAGE, "unknown option '--nothing'; try `happe-server check --help`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_goes_wrong_has_a_status_and_says_why(
    operated: Operated, command: list[str], status: int, said: str
) -> None:
    ran = operated.run(*command)
    assert ran.status == status
    assert ran.out == ""
    assert said in ran.err
    assert all(line.startswith("happe-server: ") for line in ran.err.splitlines())


def test_an_empty_database_is_refused_until_it_is_migrated(operated: Operated) -> None:
    migrations.downgrade(operated.world.database)
    refused = operated.run("user", "list")
    assert refused.status == os.EX_CONFIG
    assert "run `happe-server migrate`" in refused.err
    assert operated.done("migrate", "--json").json() == {"before": None, "after": migrations.head()}
    assert "already" in operated.done("migrate").out
    assert operated.done("user", "list", "--json").json() == []


def test_a_database_of_another_version_is_refused_by_name(operated: Operated) -> None:
    with operated.world.database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0027_owners_of_buckets'"))
    for command in ("migrate", "check", "run"):
        ran = operated.run(command)
        assert ran.status == (1 if command == "check" else os.EX_CONFIG)
        assert "0027_owners_of_buckets" in ran.err + ran.out


def test_a_database_that_is_away_is_said_without_its_password(operated: Operated) -> None:
    operated.configure(database_url="postgresql+psycopg://ada:geheim@127.0.0.1:1/none")
    for command in (["audit", "head"], ["user", "list"], ["migrate"]):
        ran = operated.run(*command)
        assert ran.status == os.EX_UNAVAILABLE
        assert "does not answer" in ran.err
        assert "geheim" not in ran.err


def test_a_full_disk_is_no_database_that_is_away() -> None:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        connection.execute(text("PRAGMA max_page_count = 1"))
        with pytest.raises(OperationalError) as full:
            connection.execute(text("CREATE TABLE one_page_more (number)"))
    engine.dispose()
    failure = meaning(full.value)
    assert failure
    assert (failure.status, "make room" in str(failure)) == (os.EX_IOERR, True)


def test_a_database_that_was_never_made_is_not_made_by_looking(operated: Operated, tmp_path: Path) -> None:
    operated.configure(database_url=f"sqlite:///{tmp_path}/none.db")
    ran = operated.run("user", "list")
    assert ran.status == os.EX_NOINPUT
    assert "happe-server init" in ran.err
    assert not (tmp_path / "none.db").exists()
