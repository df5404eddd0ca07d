# SPDX-License-Identifier: GPL-2.0-or-later
"""The migration seals parts and manifests of version 0.1, which were plain, and the downgrade opens them again."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, text

import given_power
import given_traces
from happe_study import migrations
from happe_study.evidence.traces.folder import Folder
from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.sealed import manifest_of
from happe_study.migrations import KeyNeededError, sealing
from happe_study.operations.trace_files import look
from world import fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from given_power import MeasuredRun
    from world import World

pytestmark = pytest.mark.slow

KEY = fixed_secrets().allocation
OLD = "0010_protocol_file"
PARTS = 2  # of a run of ten seconds, with five before and after


@pytest.fixture(params=[False, True], ids=["blinded", "unblinded"])
def run(world: World, request: pytest.FixtureRequest) -> MeasuredRun:
    """A sealed trace on a server that was downgraded to version 0.1."""
    made = given_power.measured_run(world, seconds=10, rate_hz=100, unblinded=request.param)
    go_back(world)
    return made


def go_back(world: World) -> None:
    world.database.dispose()
    migrations.downgrade(world.database, OLD, allocation=KEY, traces=world.config.traces_folder)


def migrate(world: World) -> None:
    world.database.dispose()
    migrations.upgrade(world.database, secrets=fixed_secrets(), traces=world.config.traces_folder)


def names(world: World) -> list[str]:
    return sorted(path.name for path in world.config.traces_folder.rglob("*.*"))


def test_the_way_back_leaves_what_version_0_1_had(world: World, run: MeasuredRun) -> None:
    assert names(world) == ["00000.parquet", "00001.parquet"]
    with world.database.engine.connect() as connection:
        rows = connection.execute(text("SELECT number, bytes, sha256 FROM trace_parts ORDER BY number")).all()
        manifest = connection.scalar(text("SELECT manifest FROM traces"))
    files = sorted(world.config.traces_folder.rglob("*.parquet"))
    found = [
        (n, len(raw), hashlib.sha256(raw).hexdigest()) for n, raw in enumerate(each.read_bytes() for each in files)
    ]
    assert [tuple(row) for row in rows] == found
    assert found == [(each["number"], each["bytes"], each["sha256"]) for each in run.manifest["parts"]]
    assert manifest is not None


def require_sealed(world: World, run: MeasuredRun) -> None:
    """Assert that the trace is complete under seal, and that nothing of it is plain."""
    assert migrations.current(world.database) == migrations.head()
    assert names(world) == ["00000.sealed", "00001.sealed"]
    for each in run.manifest["parts"]:
        content = given_traces.kept(world, run.trace, each["number"])
        assert (len(content), hashlib.sha256(content).hexdigest()) == (each["bytes"], each["sha256"])
    found = look(Folder(world.config.traces_folder), world.database, deep=True)
    assert (found.parts, found.missing, found.damaged, found.orphans) == (PARTS, [], [], [])
    with world.database.reading() as session:
        trace = session.scalars(select(Trace)).one()
        assert (trace.manifest is None) == (trace.manifest_sealed is not None)
        assert manifest_of(trace, KEY) == run.manifest
        assert trace.stored_bytes == found.bytes


def test_parts_and_manifests_are_sealed(world: World, run: MeasuredRun) -> None:
    with pytest.raises(KeyNeededError):
        migrations.upgrade(world.database)
    told: list[tuple[int, int]] = []
    migrations.upgrade(
        world.database,
        secrets=fixed_secrets(),
        traces=world.config.traces_folder,
        progress=lambda done, total: told.append((done, total)),
    )
    require_sealed(world, run)
    sizes = [each["bytes"] for each in run.manifest["parts"]]
    assert told == [(sizes[0], sum(sizes)), (sum(sizes), sum(sizes))]


def in_child(act: Callable[[], None]) -> int:
    """Do something in a child process. Returns the signal that killed the child, or 0."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(1)
    _pid, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def killed_at(name: str, call: int) -> Iterator[None]:
    """Let the process be killed at a certain call of a function of `sealing`."""
    real, calls = getattr(sealing, name), [0]

    def die(*arguments: object) -> object:
        calls[0] += 1
        if calls[0] == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(sealing, name, die)
    yield


@pytest.mark.parametrize(
    ("step", "call"),
    [("sync_file", 1), ("sync_folder", 1), ("_sealed", 2), ("sync_folder", 2)],
    ids=["written", "renamed", "one done", "the last renamed"],
)
def test_a_kill_at_any_step_loses_nothing(world: World, run: MeasuredRun, step: str, call: int) -> None:
    world.database.dispose()

    def die_on_the_way() -> None:
        for _ in killed_at(step, call):
            migrate(world)

    assert in_child(die_on_the_way) == signal.SIGKILL
    assert migrations.current(world.database) == migrations.PARTS_PLAIN
    migrate(world)
    Folder(world.config.traces_folder).sweep(older_than=0)
    require_sealed(world, run)


def test_a_full_disk_is_told_and_the_next_try_goes_on(
    world: World, run: MeasuredRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_file: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(sealing, "sync_file", full)
        with pytest.raises(OSError, match="No space left"):
            migrate(world)
    assert names(world) == ["00000.parquet", "00001.parquet"]
    migrate(world)
    require_sealed(world, run)


def test_a_part_that_was_missing_or_damaged_stays_so(world: World, run: MeasuredRun) -> None:
    first, second = sorted(world.config.traces_folder.rglob("*.parquet"))
    first.unlink()
    second.write_bytes(second.read_bytes()[:-1] + b"x")
    migrate(world)
    found = look(Folder(world.config.traces_folder), world.database, deep=True)
    assert (found.missing, found.damaged) == ([f"{run.trace}/0"], [f"{run.trace}/1"])
    with world.database.reading() as session:
        assert len(session.scalars(select(TracePart)).all()) == PARTS
