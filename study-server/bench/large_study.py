# SPDX-License-Identifier: GPL-2.0-or-later
"""A very large study, as the program would have left it, in the time that it takes to write it in bulk.

usage: large_study.py FOLDER [--database-url URL] [--participants N] [--unblinded]

Beside it there are a small study, whose pages must not suffer from the large one, and a draft. Accounts, devices,
locking and the reveal are the program's own; what participants and laptops did is rows (story.py). Everything but
nonces follows from the seed, so the blinded and the unblinded state tell of the same runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from sqlalchemy import select

import story
from bulk import piling
from given_accounts import account
from given_devices import device
from given_studies import study, text
from happe_study import migrations
from happe_study.access.rights import Role
from happe_study.audit import chain
from happe_study.base.clock import now_us
from happe_study.base.config import SECRET_NAMES
from happe_study.base.database import Database
from happe_study.design.allocation.sealing import open_seed
from happe_study.design.study import Study, StudyState
from happe_study.evidence.profiles import summaries
from happe_study.people.participants.models import Participant
from world import World, fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from given_devices import Enrolled

LARGE, SMALL, DRAFT = "very-large", "quite-small", "a-draft"
PARTICIPANTS, FEW = 10_000, 48
PAIRS = 20  # of a laptop and a meter
DAY_US = 86_400_000_000
SECONDS = "seconds = 40"
AT_ONCE = 500  # participants whose profiles are worked out in one transaction


def main(arguments: Sequence[str]) -> int:
    """Make one where nothing is yet; the exit status."""
    parser = argparse.ArgumentParser(description="Make a very large study.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--database-url", help="of an empty PostgreSQL; else SQLite in the folder")
    parser.add_argument("--participants", type=int, default=PARTICIPANTS, help="a multiple of 16")
    parser.add_argument("--unblinded", action="store_true")
    given = parser.parse_args(arguments)
    started = time.monotonic()
    url = given.database_url or f"sqlite:///{given.folder / 'server.db'}"
    make(given.folder, url, participants=given.participants, unblinded=given.unblinded)
    print(f"{given.participants} participants in {time.monotonic() - started:.0f} s")
    return 0


def make(folder: Path, url: str, *, participants: int = PARTICIPANTS, unblinded: bool = False) -> None:
    """Make the database with its secrets and traces; the folder and an empty PostgreSQL may be there already."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_secrets(folder)
    migrated(url)
    world = World(folder, url)
    try:
        fill(world, participants=participants, unblinded=unblinded)
    finally:
        world.close()


def migrated(url: str) -> None:
    """Bring an empty database to this program's revision."""
    database = Database(url)
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()


def write_secrets(folder: Path) -> None:
    """The tests' secrets, as files."""
    secrets = folder / "secrets"
    secrets.mkdir(mode=0o700)
    for name in SECRET_NAMES:
        path = secrets / f"{name}.key"
        path.touch(0o600)
        path.write_text(getattr(fixed_secrets(), name).hex())


def fill(world: World, *, participants: int, unblinded: bool) -> None:
    """Make everything in a migrated database."""
    random = Random(1)  # noqa: S311 - no secret
    for role in Role:
        account(world, role, email=f"{role}@example.org")
    study(world, protocol=protocol(DRAFT, FEW), locked=False)
    for name, many in ((SMALL, FEW), (LARGE, participants)):
        made = study(world, protocol=protocol(name, many), draw=random.randbytes)
        devices = [(device(world, made, name=f"t61 {n}"), device(world, made, "meter")) for n in range(PAIRS)]
        _tell(world, made, devices, random, unblinded=unblinded)
        if unblinded:
            _reveal(world, name)
    _settle(world)


def protocol(name: str, participants: int) -> str:
    """The crossover that ships, for so many."""
    changed = {'name = "crossover"': f'name = "{name}"', "participants = 24": f"participants = {participants}"}
    made = text("crossover").replace("seconds = 120", SECONDS)
    for old, new in changed.items():
        if old not in made:
            raise ValueError(f"the protocol that ships has no {old}")
        made = made.replace(old, new, 1)
    return made


def _tell(
    world: World, made: Study, devices: list[tuple[Enrolled, Enrolled]], random: Random, *, unblinded: bool
) -> None:
    """Write what happened in a study. It began so long ago that all of it is over."""
    with world.database.reading() as session:
        row = session.get_one(Study, made.id)
        seed = open_seed(fixed_secrets().allocation, row.name, row.seed_sealed or b"")
    world.database.dispose()
    began_us = now_us() - 200 * DAY_US
    with piling(world.database, story.ORDER) as pile:
        setting = story.Setting(row, seed, devices, began_us, unblinded)
        story.Story(pile, setting, random).tell(world.config.traces_folder)


def _reveal(world: World, name: str) -> None:
    """The rest of an unblinding: seed and salt, the log's entry, and what follows from the rows."""
    with world.database.writing() as session:
        row = session.scalars(select(Study).where(Study.name == name)).one()
        row.seed, row.salt = open_seed(fixed_secrets().allocation, row.name, row.seed_sealed or b"")
        row.state, row.unblinded_us = StudyState.UNBLINDED, now_us()
        chain.append(session, "study.unblinded", None, study_id=row.id, study=row.name, reason="all runs are complete")
        number = row.id
    with world.database.reading() as session:
        every = session.scalars(select(Participant.id).where(Participant.study_id == number)).all()
    for start in range(0, len(every), AT_ONCE):
        with world.database.writing() as session:
            summaries.refresh(session, number, every[start : start + AT_ONCE])
    with world.database.writing() as session:
        summaries.rank(session, number)


def _settle(world: World) -> None:
    """What PostgreSQL would have done by itself by now: statistics, and what is visible to everybody."""
    if world.database.is_sqlite:
        return
    with world.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
