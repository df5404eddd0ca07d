# SPDX-License-Identifier: GPL-2.0-or-later
"""Calling PostgreSQL's programs without a password on their command line or in their environment."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg import pq
from psycopg.conninfo import make_conninfo
from sqlalchemy import URL, Engine

INSTALLED = Path("/usr/lib/postgresql")


class ProgramError(Exception):
    """One of PostgreSQL's programs is missing, or failed."""


def dump(engine: Engine, snapshot: str, file: Path) -> None:
    """Write an exported snapshot of the database to a file in pg_dump's custom format. Raises ProgramError."""
    options = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={file}")
    _run("pg_dump", engine, *options, "--exclude-table-data=identity")


def restore(engine: Engine, file: Path) -> None:
    """Restore a dump into an empty database, in one transaction. Raises ProgramError."""
    _run("pg_restore", engine, "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", str(file))


def program(name: str, installed: Path = INSTALLED) -> str:
    """The path of a program of PostgreSQL: on PATH, else the newest one installed. Raises ProgramError."""
    versions = [folder for folder in installed.glob("*/bin") if folder.parent.name.isdecimal()]
    newest = sorted(versions, key=lambda folder: int(folder.parent.name), reverse=True)
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, newest)))
    if found is None:
        raise ProgramError(f"{name} is not installed; the package postgresql-client has it")
    return found


def _run(name: str, engine: Engine, *options: str) -> None:
    with _access(engine.url, engine) as (where, environment):
        command = [program(name), "--no-password", f"--dbname={where}", *options]
        done = subprocess.run(command, capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise ProgramError(f"{name} failed: {said[0]}")


@contextmanager
def _access(url: URL, engine: Engine) -> Iterator[tuple[str, dict[str, str]]]:
    """The connection string without the password, and an environment that names a file with the password."""
    _arguments, every = engine.dialect.create_connect_args(url)
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}  # libpq's options; others are psycopg's
    parts = {name: value for name, value in every.items() if name in known}
    password = parts.pop("password", None)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["LC_ALL"] = "C.UTF-8"
    if password is None:
        yield make_conninfo(**parts), environment
        return
    with tempfile.NamedTemporaryFile("w", prefix="happe-", encoding="utf-8") as file:  # its mode is 0600
        file.write("*:*:*:*:" + str(password).replace("\\", "\\\\").replace(":", "\\:") + "\n")
        file.flush()
        yield make_conninfo(**parts), environment | {"PGPASSFILE": file.name}
