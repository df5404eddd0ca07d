# SPDX-License-Identifier: GPL-2.0-or-later
"""What the server says it has is on the disk, and what a full disk or a failed commit interrupts leaves nothing."""

import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import ORMExecuteState, Session

import given_traces
import records
from disk import Disk, on_full_disks
from given_devices import put_part, put_seal
from happe_study.base.config import Config
from happe_study.model.traces import Trace, TracePart
from happe_study.operations import backup as backups
from happe_study.operations import restoring
from happe_study.operations.setting_up import Wish, make_secrets, making
from operated import Operated
from world import World, fixed_secrets


def watched(disk: Disk) -> Disk:
    """Note commits of databases, too, and queries that lock rows."""

    def commit(_connection: object) -> None:
        try:
            disk.commit()
        except OSError as error:
            full = sqlite3.OperationalError("database or disk is full")
            full.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise OperationalError("COMMIT", {}, full) from error

    def execute(state: ORMExecuteState) -> None:
        if getattr(state.statement, "_for_update_arg", None) is not None:
            disk.calls.append("lock")

    for target, name, call in ((Engine, "commit", commit), (Session, "do_orm_execute", execute)):
        event.listen(target, name, call)
        disk.callback(event.remove, target, name, call)
    return disk


def kinds(disk: Disk) -> list[str]:
    """The calls without the names of files."""
    return [call.partition(" ")[0] for call in disk.calls]


STORED = ["fsync", "replace", "fsync", "fsync", "fsync"]  # file, name, three folders


def test_a_part_is_on_the_disk_before_its_row_and_its_row_before_the_answer(world: World, tmp_path: Path) -> None:
    meter = given_traces.begun(world)
    world.config.traces_folder.mkdir()
    with watched(Disk(tmp_path)) as disk:
        meter.put(0)
    assert disk.lost() == []
    assert kinds(disk) == [*STORED, "lock", "commit"]


def test_a_part_without_room_for_it_or_its_row_leaves_nothing(world: World, tmp_path: Path) -> None:
    meter = given_traces.begun(world)
    answers = []

    def put(disk: Disk) -> None:
        answers.append(put_part(meter.client, meter.trace, 0, records.part(0)).status_code)
        if len(answers) == len(STORED) + 1:  # the commit failed
            assert kinds(disk) == [*STORED, "lock", "lock", "unlink"]

    for _ in on_full_disks(tmp_path, lambda disk: put(watched(disk))):
        assert [path for path in world.config.traces_folder.rglob("*") if path.is_file()] == []
        assert world.count(TracePart) == 0
    assert answers == [507] * (len(STORED) + 1) + [201]


def test_a_seal_is_in_the_database_before_the_answer(world: World, tmp_path: Path) -> None:
    meter = given_traces.begun(world)

    def seal(disk: Disk) -> None:
        answer = put_seal(meter.client, records.power_manifest(0, trace=meter.trace))
        assert (answer.status_code == 200) == (kinds(disk)[-1:] == ["commit"])

    for _ in on_full_disks(tmp_path, lambda disk: seal(watched(disk))):
        with world.database.reading() as session:
            assert session.query(Trace.sealed_us).one() == (None,)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The place of a backup."""
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups" / "backup.tar"


def test_a_backup_is_on_the_disk_when_it_is_made_and_a_full_disk_leaves_none(operated: Operated, place: Path) -> None:
    given_traces.uploaded(operated.world, 2)
    source = backups.Source(operated.world.config, fixed_secrets(), operated.world.database)

    def back_up(disk: Disk) -> None:
        place.unlink(missing_ok=True)
        with suppress(OSError):
            backups.make(source, place, with_secrets=True)
            assert disk.lost() == []

    for _ in on_full_disks(place.parent, back_up):
        assert [path.name for path in place.parent.iterdir() if path != place] == []


def test_a_restored_server_is_on_the_disk_and_a_full_disk_leaves_none(
    operated: Operated, place: Path, tmp_path: Path
) -> None:
    given_traces.uploaded(operated.world, 1)
    operated.done("backup", place, "--with-secrets")
    data = tmp_path / "elsewhere"
    data.mkdir()
    config = Config.model_validate({"data": data, "database_url": f"sqlite:///{data}/server.db"})

    def restore(disk: Disk) -> None:
        for each in data.iterdir():
            if each.name != restoring.STAGE:  # the next attempt is on what this one left there
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        with suppress(OSError):
            restoring.restore(config, place)
            assert disk.lost() == []

    for _ in on_full_disks(tmp_path, restore):
        assert not (data / "server.db").exists() or len(list(data.glob("traces/*/*/*"))) == 1


def test_a_new_server_is_on_the_disk_and_a_full_disk_leaves_nothing_of_it(tmp_path: Path) -> None:
    wish = Wish(tmp_path / "etc" / "server.toml", tmp_path / "data")
    config = Config.model_validate(wish.fields)

    def make(disk: Disk) -> None:
        with suppress(OSError):
            with making(wish, config):
                make_secrets(config.secrets_folder)
            assert disk.lost() == []

    for _ in on_full_disks(tmp_path, make):
        assert list(tmp_path.iterdir()) == []
