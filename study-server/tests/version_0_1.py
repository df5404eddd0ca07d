# SPDX-License-Identifier: GPL-2.0-or-later
"""Make version 0.1's data, or show all rows. The code and the tests' helpers of that version run this program.

version_0_1.py write|rows FOLDER DATABASE_URL
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from happe_study.accounts.rights import Role  # type: ignore[import-not-found,import-untyped,unused-ignore]
from happe_study.database import Base, Database  # type: ignore[import-not-found,import-untyped,unused-ignore]
from sqlalchemy import select

import given_power
from happe_study import migrations
from world import World


def write(folder: Path, url: str) -> None:
    """Write a blinded and an unblinded study, each with a run, its record and power trace; and accounts of staff."""
    database = Database(url)
    migrations.upgrade(database)
    database.dispose()
    world = World(folder, url)
    made = {}
    for name, unblinded in (("blinded", False), ("seen", True)):
        run = given_power.measured_run(world, name, seconds=10, rate_hz=1000, unblinded=unblinded)
        made[name] = {"run": run.code, "record": run.record, "trace": run.trace, "parts": run.manifest["parts"]}
    for role in (Role.INVESTIGATOR, Role.CUSTODIAN):
        world.account(role, email=f"{role}@example.org")
    world.close()
    print(json.dumps(made))


def rows(url: str) -> None:
    """Print every cell of every row of every table, as text."""
    database = Database(url)
    with database.reading() as session:
        found = {
            table.name: [
                {name: repr(value) for name, value in row.items()}
                for row in session.execute(select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in Base.metadata.sorted_tables
        }
    database.dispose()
    print(json.dumps(found))


if __name__ == "__main__":
    what, where, address = sys.argv[1:]
    if what == "write":
        write(Path(where), address)
    else:
        rows(address)
