# SPDX-License-Identifier: GPL-2.0-or-later
"""The database: SQLite or PostgreSQL behind the same two verbs, `reading` and `writing`."""

import fcntl
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, cast

from sqlalchemy import (
    JSON,
    BigInteger,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    Select,
    String,
    Table,
    create_engine,
    event,
)
from sqlalchemy.engine import make_url
from sqlalchemy.orm import DeclarativeBase, Session

from happe_study.base.config import ConfigError

Micros = BigInteger  # microseconds since 1970, UTC
Code = String(16)
Name = String(255)
Digest = String(64)  # SHA-256 in hexadecimal
Serial = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up in INTEGER PRIMARY KEY only

BUSY_SECONDS = 30
OLDEST_POSTGRESQL = 15  # the oldest that its makers maintain and our tests use
ALONE = "AUTOCOMMIT"  # each statement is its own transaction
# Locks of PostgreSQL without a row. Their numbers are arbitrary.
BEGIN_JOB = "SELECT pg_advisory_xact_lock(7310580)"  # for beginning a job of the server
# The lock (`with_for_update`) for changing a study, a participant or a laptop, or beginning a study's job. Meanwhile
# others can append to the audit log, and add rows that refer to it.
FOR_CHANGE: dict[str, Any] = {"key_share": True}


class Base(DeclarativeBase):
    """The base class of all tables. Constraints have names, so that migrations can refer to them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {bytes: LargeBinary, dict[str, Any]: JSON, list[int]: JSON}  # noqa: RUF012 - SQLAlchemy's way


def table(model: type[Base]) -> Table:
    """A model's table, for statements on hot paths: they cost a third of the time that objects cost."""
    return cast("Table", model.__table__)


class Database:
    """One database and its pool of connections.

    `reading()` and `writing()` give a session that ends with the block. A writing block is one transaction: its end
    commits it, an exception rolls it back. On SQLite the transaction starts with BEGIN IMMEDIATE, after writers have
    queued for a file lock: SQLite itself would poll, which is unfair and slow when many write.
    """

    def __init__(self, url: str, *, pool_size: int = 8, busy: Callable[[int], None] = lambda _change: None) -> None:
        """Do not connect yet. `busy` gets +1 when a writer starts to wait, and -1 when it has finished."""
        self.url = make_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self._busy = busy
        options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": 8, "hide_parameters": True}
        options["pool_use_lifo"] = True  # the most recently used connection has prepared and planned its statements
        if self.is_sqlite:
            options["connect_args"] = {"timeout": BUSY_SECONDS, "isolation_level": None}
        else:
            options["use_native_hstore"] = False  # else psycopg looks for hstore, and PostgreSQL logs an error
        self.engine = create_engine(self.url, **options)
        self._looking = self.engine if self.is_sqlite else create_engine(self.url, isolation_level=ALONE, **options)
        self._writers = _Turns(Path(f"{self.url.database}-writers")) if self.is_sqlite else None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            for engine in (self.engine, self._looking):  # before SQLAlchemy reads texts, which SQL_ASCII gives as bytes
                event.listen(engine, "connect", _require_fit_postgresql, insert=True)
        self._writing = self.engine.execution_options(happe_begin="BEGIN IMMEDIATE")

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that discards its changes. After the block it refuses queries, which would keep a connection."""
        with Session(self.engine, autoflush=False, close_resets_only=False) as session:
            yield session

    def row(self, statement: "Select[*tuple[Any, ...]]", values: dict[str, Any]) -> "Row[*tuple[Any, ...]] | None":
        """The first row of a query, without a session. This takes half the time."""
        with self._looking.connect() as connection:
            return connection.execute(statement, values).first()

    @contextmanager
    def looking_up(self) -> Iterator[Session]:
        """A session that reads a row or two, as each request does first. It sends PostgreSQL no BEGIN and ROLLBACK."""
        with Session(self._looking, autoflush=False, close_resets_only=False) as session:
            yield session

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A session that commits its changes if the block ends without an exception."""
        turn = self._writers.turn() if self._writers else nullcontext()
        self._busy(+1)
        try:
            with (
                turn,
                self._writing.connect() as connection,
                Session(connection, expire_on_commit=False) as session,
                session.begin(),
            ):
                yield session
        finally:
            self._busy(-1)

    def dispose(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        self._looking.dispose()


def at_one_moment(session: Session) -> None:
    """Make all statements of a new session of `reading()` see one moment. On SQLite they always do."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})


class _Turns:
    """A lock by which the writers of one SQLite file take turns, in all threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._threads, self._path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the kernel releases it when the file is closed or the process dies
            yield


def _require_fit_postgresql(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's type
    """Raise ConfigError, with advice, if the database is too old or can't keep every text."""
    info = connection.info
    encoding, why = info.parameter_status("server_encoding"), ""
    if info.server_version < OLDEST_POSTGRESQL * 10_000:
        version = f"{info.server_version // 10_000}"
        why = (
            f"PostgreSQL {version} is too old; HAPPE needs {OLDEST_POSTGRESQL}: upgrade its cluster (pg_upgradecluster)"
        )
    elif encoding != "UTF8":
        why = (
            f"the database {info.dbname} has the encoding {encoding}, and HAPPE needs UTF8; make another database:\n"
            f"createdb --owner {info.user} --encoding UTF8 --template template0 NAME"
        )
    if why:
        connection.close()
        raise ConfigError(why)


def _prepare_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's type
    cursor = connection.cursor()
    durable, safe = ("journal_mode=WAL", "synchronous=FULL"), ("foreign_keys=ON", "trusted_schema=OFF")
    try:
        for pragma in (*durable, *safe, "secure_delete=ON"):  # secure_delete overwrites erased data
            cursor.execute(f"PRAGMA {pragma}")
    except sqlite3.Error:  # the file is damaged
        connection.close()
        raise
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    connection.exec_driver_sql(connection.get_execution_options().get("happe_begin", "BEGIN"))
