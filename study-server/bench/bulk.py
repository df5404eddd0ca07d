# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a great many rows as fast as a database takes them: COPY on PostgreSQL, one transaction on SQLite.

Neither looks foreign keys up meanwhile: what is written must be right.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from uuid import UUID

import psycopg
from psycopg import sql
from sqlalchemy import JSON, Uuid

from happe_study.base.database import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Column

    from happe_study.base.database import Base, Database

    Model = type[Base]
    Row = tuple[Any, ...]

AT_ONCE = 50_000  # rows kept in memory


class Pile:
    """Rows to be written, each table's after those of the tables before it in `order`.

    JSON may be given as text. On PostgreSQL the counters of ids are set when all is written.
    """

    def __init__(self, driver: sqlite3.Connection | psycopg.Connection, order: Sequence[Model]) -> None:
        """Write through a driver's connection, whose transaction is the caller's."""
        self._driver = driver
        self._names = {model: [column.name for column in table(model).columns] for model in order}
        self._encoders = {model: _encoders(model, isinstance(driver, sqlite3.Connection)) for model in order}
        self._rows: defaultdict[Model, list[Row]] = defaultdict(list)
        self._waiting = 0
        self._last = {model: self._ask(model) for model in order if "id" in self._names[model]}

    def id(self, model: Model) -> int:
        """The id of a new row."""
        self._last[model] += 1
        return self._last[model]

    def add(self, model: Model, **columns: object) -> None:
        """A row by its columns' names; NULL where there is none."""
        unknown = columns.keys() - set(self._names[model])
        if unknown:
            raise TypeError(f"{model.__name__} has no {', '.join(sorted(unknown))}")
        self.put(model, tuple(columns.get(name) for name in self._names[model]))

    def put(self, model: Model, row: Row) -> None:
        """A row in the order of the table's columns."""
        self._rows[model].append(row)
        self._waiting += 1

    def relieve(self) -> None:
        """Write what waits if it is much. Call it where what waits names nothing that is still to come."""
        if self._waiting >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        for model in self._names:
            if rows := self._rows.pop(model, []):
                self._write(model, rows)
        self._waiting = 0

    def finish(self) -> None:
        """Write the rest, and let ids go on after those given."""
        self.flush()
        if isinstance(self._driver, psycopg.Connection):
            for model, last in self._last.items():
                name = table(model).name
                self._driver.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", (name, max(last, 1)))

    def head(self) -> tuple[int, str]:
        """The audit log's head."""
        number, digest = self._driver.execute("SELECT number, chain_sha256 FROM audit_head").fetchone() or (0, "")
        return int(number), str(digest)

    def move_head(self, number: int, digest: str) -> None:
        """Let the audit log end there."""
        self._driver.execute(f"UPDATE audit_head SET number = {number}, chain_sha256 = '{digest}'")  # noqa: S608 - ours

    def take_slots(self, study_id: int, participants: Sequence[int]) -> None:
        """Give a study's slots, by position, to participants; 0: the slot is free."""
        place = "%s" if isinstance(self._driver, psycopg.Connection) else "?"
        statement = f"UPDATE slots SET participant_id = {place} WHERE study_id = {study_id} AND position = {place}"  # noqa: S608 - ours
        rows = [(taken, position) for position, taken in enumerate(participants, start=1) if taken]
        (cursor := self._driver.cursor()).executemany(statement, rows)
        cursor.close()

    def _ask(self, model: Model) -> int:
        (last,) = self._driver.execute(f"SELECT coalesce(max(id), 0) FROM {table(model).name}").fetchone() or (0,)  # noqa: S608 - ours
        return int(last)

    def _write(self, model: Model, rows: list[Row]) -> None:
        encoders, names, into = self._encoders[model], self._names[model], table(model).name
        ready = (_encoded(row, encoders) for row in rows) if encoders else iter(rows)
        if isinstance(self._driver, sqlite3.Connection):
            places = ", ".join("?" * len(names))
            self._driver.executemany(f"INSERT INTO {into} ({', '.join(names)}) VALUES ({places})", ready)  # noqa: S608 - ours
            return
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(into), columns)
        with self._driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in ready:
                copy.write_row(row)


@contextmanager
def piling(database: Database, order: Sequence[Model]) -> Iterator[Pile]:
    """A pile that is written to a database when the block ends well. SQLite's is written without safety."""
    if database.is_sqlite:
        with sqlite3.connect(str(database.url.database), isolation_level=None) as driver:
            driver.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000; BEGIN")
            yield from _piled(driver, order)
            driver.execute("COMMIT")
            driver.execute("PRAGMA journal_mode=WAL")
        driver.close()
        return
    address = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(address) as postgresql:
        postgresql.execute("SET session_replication_role = replica")  # foreign keys are not looked up, as on SQLite
        yield from _piled(postgresql, order)


def _piled(driver: sqlite3.Connection | psycopg.Connection, order: Sequence[Model]) -> Iterator[Pile]:
    pile = Pile(driver, order)
    yield pile
    pile.finish()


Encoders = tuple[tuple[int, "Callable[[Any], Any]"], ...]


def _encoders(model: Model, sqlite: bool) -> Encoders:  # noqa: FBT001 - a kind of database
    columns = enumerate(table(model).columns)
    return tuple((place, encoder) for place, column in columns if (encoder := _encoder(column, sqlite)) is not None)


def _encoder(column: Column[Any], sqlite: bool) -> Callable[[Any], Any] | None:  # noqa: FBT001 - a kind of database
    if isinstance(column.type, JSON):
        return lambda value: value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    if isinstance(column.type, Uuid) and sqlite:
        return lambda value: UUID(value).hex
    return None


def _encoded(row: Row, encoders: Encoders) -> list[Any]:
    fields = list(row)
    for place, encoder in encoders:
        if fields[place] is not None:
            fields[place] = encoder(fields[place])
    return fields
