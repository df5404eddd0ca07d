# SPDX-License-Identifier: GPL-2.0-or-later
"""PostgreSQL for tests: a cluster in a folder. Tests reach it only by a Unix socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from patience import PATIENCE_S

MEMORY, ROOM = Path("/dev/shm"), 2 << 30  # noqa: S108 - the folder of a cluster there has a name of its own
DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
# A test of what differs between the two kinds of database: locks, constraints, counting, types. Others run on SQLite.
ON_BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
WAIT = ("-w", "-t", str(int(PATIENCE_S)))


class Postgres:
    """A cluster. PostgreSQL refuses to run as root, so root runs it as the user `postgres`, who must own the folder."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        """Start a folder's cluster; make it if it is missing. `durable`: commits reach the disk, as in production."""
        self.folder = folder
        lasting = "" if durable else " -c fsync=off -c max_wal_size=128MB"
        self._options = f"-k {folder} -h '' -c max_connections=200{lasting}"
        if not folder.exists():
            self._make()
        self.start()

    def start(self) -> None:
        """Start the cluster, and wait until it answers."""
        self._run(
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-o",
            self._options,
            *WAIT,
            "-l",
            str(self.folder / "log"),
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop the cluster. `immediate` is a crash, `fast` ends every connection in order."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, *WAIT, "stop")

    def url(self, database: str = "postgres") -> str:
        """A database's URL for SQLAlchemy."""
        return f"postgresql+psycopg://happe@/{database}?host={self.folder}"

    def pids(self) -> list[int]:
        """The cluster's processes."""
        first = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        return [first, *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]

    def copy(self, name: str) -> str:
        """Copy the database `template_happe`, and return the copy's URL. PostgreSQL copies files, and logs no pages."""
        self.execute(f"CREATE DATABASE {name} TEMPLATE template_happe STRATEGY file_copy")
        return self.url(name)

    def execute(self, statement: str) -> None:
        """Run a statement outside of any transaction, such as CREATE DATABASE."""
        with psycopg.connect(f"host={self.folder} user=happe dbname=postgres", autocommit=True) as connection:
            connection.execute(statement)

    def _make(self) -> None:
        self.folder.mkdir(mode=0o755, parents=True)
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "--auth=trust", "--username=happe", "--encoding=UTF8", "--no-sync")

    def _run(self, program: str, *arguments: str) -> None:
        found = shutil.which(program, path=":".join([*map(str, DEBIAN), os.environ["PATH"]]))
        assert found, f"{program}: not installed; `make setup` installs it"
        command = [found, *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
            self._let_through()
        log = self.folder / "output"
        with log.open("ab") as output:  # pg_ctl's child would keep a pipe open
            done = subprocess.run(
                command, stdout=output, stderr=output, check=False, cwd=self.folder, timeout=PATIENCE_S
            )
        assert done.returncode == 0, f"{program}: {log.read_text()}"

    def _let_through(self) -> None:
        """Let other users reach the folder."""
        for parent in self.folder.parents:
            mode = parent.stat().st_mode
            if not mode & 0o001:
                parent.chmod(mode | 0o011)


@contextmanager
def cluster(*, durable: bool = False, place: Path | None = None) -> Iterator[Postgres]:
    """A cluster in a folder of `place`, or where temporary files are. The block's end stops it.

    It is not in pytest's own folder, because each new session of pytest closes that to other users, and PostgreSQL may
    be another user.
    """
    with tempfile.TemporaryDirectory(prefix="happe-postgres-", dir=place) as folder:
        made = Postgres(Path(folder) / "cluster", durable=durable)
        try:
            yield made
        finally:
            made.stop()


def memory() -> Path | None:
    """A folder in memory, if it has room. Each database has hundreds of files, for which a disk takes long."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ROOM else None
