# SPDX-License-Identifier: GPL-2.0-or-later
"""PostgreSQL's own programs, called so that no password is on a command line or in an environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg import pq
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Engine

INSTALLED = Path("/usr/lib/postgresql")


class ProgramError(Exception):
    """A program of PostgreSQL's is missing or failed."""


def dump(engine: Engine, snapshot: str, file: Path) -> None:
    """Write the database as an exported snapshot shows it, in pg_dump's custom format. Raises ProgramError."""
    options = ("--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}", f"--file={file}")
    _run("pg_dump", engine, *options)


def restore(engine: Engine, file: Path) -> None:
    """Fill an empty database, all of it or nothing. Raises ProgramError."""
    _run("pg_restore", engine, "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", str(file))


def program(name: str, installed: Path = INSTALLED) -> str:
    """Where one of its programs is: on PATH, or the newest of the system's. Raises ProgramError."""
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
    """How to reach the database without its password, and an environment that names a file with it."""
    _arguments, every = engine.dialect.create_connect_args(url)
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}  # libpq's; the others are psycopg's
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
