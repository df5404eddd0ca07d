# SPDX-License-Identifier: GPL-2.0-or-later
"""Backups of a working server, and restoring them: all acknowledged data are there, and verify."""

import io
import json
import os
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text

import given_studies
import given_traces
from happe_study.base.database import Database
from happe_study.base.identity import identity
from happe_study.model.runs import Run, RunRecord
from happe_study.operations import backup as backups
from happe_study.operations import migrations, restoring
from happe_study.operations.backup import NAME
from happe_study.study.records.stored import opened
from in_process import Ran
from operated import Operated, happe_server
from patience import PATIENCE_S
from postgres import ON_BOTH, Postgres
from test_erasure import played
from world import fixed_secrets

pytestmark = pytest.mark.slow


class Elsewhere:
    """An empty place to restore to: a data folder, and a database of the same kind."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self.data = folder / "data"
        self.file = folder / "server.toml"
        self.url = url or f"sqlite:///{self.data / 'server.db'}"
        folder.mkdir()
        lines = [f"data = {json.dumps(str(self.data))}", "limits.free_bytes = 0"]
        self.file.write_text("\n".join([*lines, f"database_url = {json.dumps(url)}" if url else ""]))

    def run(self, *arguments: str | Path) -> Ran:
        """Run a command on this place."""
        return happe_server("--config", self.file, *arguments)

    def give_secrets(self, server: Operated) -> None:
        """Copy a server's secrets here."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        shutil.copytree(server.data / "secrets", self.data / "secrets")


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, operated: Operated, tmp_path: Path) -> Iterator[Elsewhere]:
    """An empty place for a server on the same kind of database."""
    if operated.database_url.startswith("sqlite"):
        yield Elsewhere(tmp_path / "elsewhere", None)
        return
    cluster: Postgres = request.getfixturevalue("postgres")
    cluster.execute("CREATE DATABASE elsewhere")
    yield Elsewhere(tmp_path / "elsewhere", cluster.url("elsewhere"))
    cluster.execute("DROP DATABASE elsewhere WITH (FORCE)")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The place of a backup."""
    return tmp_path / "backup.tar"


def files_of(place: Path) -> dict[str, bytes]:
    """The files in a backup."""
    with tarfile.open(place) as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}  # type: ignore[union-attr] # all are files


@ON_BOTH
def test_a_backup_under_load_restores_to_a_server_that_verifies(
    operated: Operated, elsewhere: Elsewhere, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter, live = given_traces.uploaded(operated.world, 8), identity(operated.world.database)
    before = dict(meter.acknowledged)
    began, stop = threading.Event(), threading.Event()

    def upload() -> None:
        number = len(before)
        while not stop.is_set():
            meter.put(number)
            number += 1
            began.set()

    taken = backups.take

    def take_while_uploading(*arguments: Any) -> backups.Snapshot:  # noqa: ANN401 - handed on
        began.clear()
        assert began.wait(PATIENCE_S)
        found = taken(*arguments)
        began.clear()
        assert began.wait(PATIENCE_S)
        return found

    monkeypatch.setattr(backups, "take", take_while_uploading)
    uploader = threading.Thread(target=upload)
    uploader.start()
    try:
        made = operated.run("backup", place, "--with-secrets", "--json")
    finally:
        stop.set()
        uploader.join(PATIENCE_S)
    assert made.status == 0, made.err

    restored = elsewhere.run("restore", place, "--json")
    assert restored.status == 0, restored.err
    assert restored.json()["audit_head"] == made.json()["audit_head"]
    copied = Database(elsewhere.url)
    assert identity(copied) != live, "so it does not own the live server's bucket"
    copied.dispose()
    checked = elsewhere.run("check", "--deep", "--json")
    assert {finding["verdict"] for finding in checked.json()} == {"ok"}, checked.out
    assert elsewhere.run("audit", "verify", "--expect", made.json()["audit_head"]).status == 0
    for number, content in before.items():
        (path,) = (elsewhere.data / "traces" / meter.trace[:2] / meter.trace).glob(f"{number:05d}-*.sealed")
        assert given_traces.seal(operated.world, meter.trace, number).opened(path.read_bytes()) == content
    assert len(meter.acknowledged) > len(before) + 1


def test_a_record_is_sealed_in_a_backup_too_and_opens_with_the_servers_secrets(
    operated: Operated, elsewhere: Elsewhere, place: Path
) -> None:
    someone = played(operated.world, given_studies.study(operated.world, protocol=given_studies.small()))
    operated.done("backup", place)
    elsewhere.give_secrets(operated)
    assert elsewhere.run("restore", place).status == 0
    checked = elsewhere.run("check", "--json")
    assert {finding["verdict"] for finding in checked.json()} == {"ok"}, checked.out
    (elsewhere.data / "secrets/allocation.key").write_text(fixed_secrets("another").allocation.hex())
    assert elsewhere.run("check").status == 1
    database = Database(elsewhere.url)
    with database.reading() as session:
        code, document = session.execute(select(Run.code, RunRecord.document).join(RunRecord)).one()
    database.dispose()
    assert json.loads(opened(fixed_secrets().allocation, code, document)) == someone.record


def test_a_backup_says_what_is_in_it_and_only_its_owner_can_read_it(operated: Operated, place: Path) -> None:
    given_traces.uploaded(operated.world, 2)
    made = operated.done("backup", place, "--json").json()
    files = files_of(place)
    manifest = json.loads(files[NAME])
    assert {entry["path"] for entry in manifest["files"]} | {NAME} == set(files)
    assert made["audit_head"] == f"{manifest['audit']['number']}:{manifest['audit']['chain_sha256']}"
    assert (manifest["format"], manifest["revision"], manifest["missing"]) == (1, migrations.head(), [])
    assert made["bytes"] == sum(entry["size"] for entry in manifest["files"])
    assert place.stat().st_mode & 0o077 == 0


def test_secrets_are_in_a_backup_only_if_asked_for(operated: Operated, place: Path) -> None:
    operated.done("backup", place)
    content = place.read_bytes()
    for key in (operated.data / "secrets").iterdir():
        assert key.read_text().strip().encode() not in content
        assert bytes.fromhex(key.read_text()) not in content
    said = operated.done("backup", place.with_name("secret.tar"), "--with-secrets").err
    assert "holds the secrets" in said


def test_secrets_come_back_with_their_modes(operated: Operated, elsewhere: Elsewhere, place: Path) -> None:
    operated.done("backup", place, "--with-secrets")
    assert "The command restored the secrets, too." in elsewhere.run("restore", place).out
    secrets = elsewhere.data / "secrets"
    assert secrets.stat().st_mode & 0o777 == 0o700
    for key in (operated.data / "secrets").iterdir():
        assert (secrets / key.name).read_bytes() == key.read_bytes()
        assert (secrets / key.name).stat().st_mode & 0o777 == 0o600


def test_without_secrets_it_is_said_that_they_are_missing(
    operated: Operated, elsewhere: Elsewhere, place: Path
) -> None:
    operated.done("backup", place)
    assert "The backup has no secrets. Copy the server's to" in elsewhere.run("restore", place).out
    elsewhere.give_secrets(operated)
    assert elsewhere.run("check").status == 0


def test_secrets_that_are_there_are_never_replaced(operated: Operated, elsewhere: Elsewhere, place: Path) -> None:
    for name, asked in ((place, ()), (place.with_name("secret.tar"), ("--with-secrets",))):
        operated.done("backup", name, *asked)
    elsewhere.give_secrets(operated)
    (elsewhere.data / "secrets/allocation.key").write_text("11" * 32)
    refused = elsewhere.run("restore", place.with_name("secret.tar"))
    assert refused.status == os.EX_CANTCREAT
    assert [each.name for each in elsewhere.data.iterdir()] == ["secrets"]
    assert "belong to another server" in elsewhere.run("restore", place).out
    assert (elsewhere.data / "secrets/allocation.key").read_text() == "11" * 32


def test_a_server_is_not_restored_over(operated: Operated, place: Path) -> None:
    operated.done("backup", place)
    head = operated.done("audit", "head").out
    assert operated.run("restore", place).status == os.EX_CANTCREAT
    assert operated.done("audit", "head").out == head


@ON_BOTH
def test_a_database_with_tables_is_refused(operated: Operated, place: Path, tmp_path: Path) -> None:
    operated.done("backup", place)
    other = Elsewhere(tmp_path / "other", operated.database_url)
    refused = other.run("restore", place)
    assert refused.status == os.EX_CANTCREAT
    assert not (other.data / "traces").exists()


def test_a_backup_of_the_other_kind_of_database_is_refused(operated: Operated, place: Path, tmp_path: Path) -> None:
    operated.done("backup", place)
    refused = Elsewhere(tmp_path / "other", "postgresql+psycopg://nobody@127.0.0.1:1/none").run("restore", place)
    assert refused.status == os.EX_DATAERR
    assert "the configuration names another kind of database" in refused.err


def test_a_backup_of_another_revision_is_refused(operated: Operated, elsewhere: Elsewhere, place: Path) -> None:
    source = backups.Source(operated.world.config, fixed_secrets(), operated.world.database)
    with operated.world.database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    backups.make(source, place)
    refused = elsewhere.run("restore", place)
    assert refused.status == os.EX_DATAERR
    assert "revision 9999" in refused.err
    assert not elsewhere.data.exists()


def test_a_name_that_is_taken_is_refused(operated: Operated, place: Path) -> None:
    place.write_text("here first")
    refused = operated.run("backup", place)
    assert (refused.status, place.read_text()) == (os.EX_CANTCREAT, "here first")


def test_a_folder_that_is_not_there_is_said(operated: Operated, tmp_path: Path) -> None:
    refused = operated.run("backup", tmp_path / "none/backup.tar")
    assert refused.status == os.EX_NOINPUT
    assert f"{tmp_path}/none: no such folder; make it first" in refused.err


@pytest.mark.parametrize("damage", ["gone", "shorter", "changed"])
def test_parts_that_the_server_has_lost_are_said_and_the_rest_is_backed_up(
    operated: Operated, elsewhere: Elsewhere, place: Path, damage: str
) -> None:
    files = given_traces.uploaded(operated.world, 3).files
    content = files[1].read_bytes()
    files[1].unlink()
    if damage != "gone":
        files[1].write_bytes(content[:-1] if damage == "shorter" else bytes(len(content)))
    made = operated.run("backup", place, "--with-secrets")
    assert made.status == 1
    assert "1 parts of traces are missing or damaged on the server itself" in made.err
    assert elsewhere.run("restore", place).status == 0
    findings = elsewhere.run("check", "--deep", "--json").json()
    assert sum(finding["verdict"] == "fail" for finding in findings) == 1


def rewrite(place: Path, end: str, change: Callable[[bytes], bytes | None]) -> None:
    """Write a backup again after `change` has changed the files whose names end so. None leaves a file out."""
    files = files_of(place)
    with tarfile.open(place, "w") as new:
        for name, content in files.items():
            changed = change(content) if name.endswith(end) else content
            if changed is not None:
                member = tarfile.TarInfo(name)
                member.size = len(changed)
                new.addfile(member, io.BytesIO(changed))


def flip(place: Path) -> None:
    """Change a bit."""
    content = bytearray(place.read_bytes())
    content[len(content) // 3] ^= 16
    place.write_bytes(content)


def named_twice(content: bytes) -> bytes:
    """A manifest that names a file twice."""
    manifest = json.loads(content)
    manifest["files"].append(manifest["files"][0])
    return json.dumps(manifest).encode()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut short": lambda place: os.truncate(place, place.stat().st_size // 2),
    "a bit": flip,
    "longer parts": lambda place: rewrite(place, ".sealed", lambda content: content + b"x"),
    "a file outside": lambda place: rewrite(place, NAME, lambda text: text.replace(b"traces/", b"traces/../../")),
    "no parts": lambda place: rewrite(place, ".sealed", lambda _content: None),
    "no manifest": lambda place: rewrite(place, NAME, lambda _content: None),
    "no JSON": lambda place: rewrite(place, NAME, lambda content: content[:-9]),
    "a file twice": lambda place: rewrite(place, NAME, named_twice),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_backup_is_refused_and_leaves_no_server(
    operated: Operated, tmp_path: Path, place: Path, damage: str
) -> None:
    given_traces.uploaded(operated.world, 3)
    operated.done("backup", place)
    DAMAGES[damage](place)
    elsewhere = Elsewhere(tmp_path / "elsewhere", None)
    refused = elsewhere.run("restore", place)
    assert refused.status == os.EX_DATAERR, refused
    assert refused.err.startswith(f"happe-server: {place}: ")
    left = {path.name for path in elsewhere.data.glob("*")} if elsewhere.data.exists() else set()
    assert left <= {restoring.STAGE}
    assert not (tmp_path / "elsewhere/traces").exists()
    # and it does not stand in the way of a good one
    good = tmp_path / "good.tar"
    operated.done("backup", good)
    assert elsewhere.run("restore", good).status == 0
    assert not (elsewhere.data / restoring.STAGE).exists()


@pytest.mark.parametrize("content", [b"", b"no tar", bytes(10240)])
def test_a_file_that_is_no_backup_is_refused(operated: Operated, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.tar"
    file.write_bytes(content)
    elsewhere = Elsewhere(tmp_path / "elsewhere", None)
    refused = elsewhere.run("restore", file)
    assert refused.status == os.EX_DATAERR
    assert operated.data.exists()


def test_the_audit_log_of_what_was_restored_must_end_as_the_manifest_says(
    operated: Operated, tmp_path: Path, place: Path
) -> None:
    given_traces.uploaded(operated.world, 1)
    operated.done("backup", place)
    rewrite(place, NAME, lambda content: content.replace(b'"number": ', b'"number": 9'))
    ran = Elsewhere(tmp_path / "elsewhere", None).run("restore", place)
    assert ran.status == 1
    assert "truncated" in ran.err
