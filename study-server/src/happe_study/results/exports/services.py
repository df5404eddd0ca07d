# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports of a study's tables for people who may see them, and the dictionary that describes all columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from happe_study.base.config import Secrets
from happe_study.base.database import Database, at_one_moment
from happe_study.base.problems import conflict, forbidden, not_found
from happe_study.base.tables import Column, Format, Kind, encoded
from happe_study.model.audit.chain import append
from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study, StudyState
from happe_study.results.exports.records import KEYS, LEARNING_EVENTS, PROFILES, RECORDS, SAMPLES
from happe_study.results.exports.tables import (
    CLOCKS,
    EXCLUSIONS,
    RUNS,
    STUDY,
    TRACES,
    Source,
    Table,
    participants,
    ratings,
)
from happe_study.study.profiles.services import take_out
from happe_study.study.studies.services import protocol_of, seed_of

EVERY_RIGHT = frozenset(Right)


@dataclass(frozen=True)
class Export:
    """A table of a study, and those columns that somebody may see."""

    source: Source
    study: str
    table: Table
    columns: tuple[Column, ...]

    def file_name(self, form: Format) -> str:
        """The file's name, from the names of study and table. Both are public."""
        return f"{self.study}-{self.table.name}.{form}"


def tables(study: Study) -> dict[str, Table]:
    """Every table of a study, by name."""
    protocol = protocol_of(study)
    data = (
        participants(protocol),
        RUNS,
        EXCLUSIONS,
        ratings(protocol),
        RECORDS,
        SAMPLES,
        KEYS,
        PROFILES,
        LEARNING_EVENTS,
        CLOCKS,
        TRACES,
        STUDY,
    )
    return {table.name: table for table in (*data, _dictionary(data))}


@dataclass(frozen=True)
class Wish:
    """A request for a table in a format, by somebody (None: the command line, with every right)."""

    table: str
    form: Format
    who: Caller | None


def prepare(session: Session, study: Study, secrets: Secrets, wish: Wish) -> Export:
    """Do as `allowed` does, and write the export to the audit log. Raises the same Problems."""
    made = allowed(session, study, secrets, wish)
    name = made.table.name
    append(session, "study.exported", wish.who, study_id=study.id, study=study.name, table=name, format=wish.form)
    return made


def allowed(session: Session, study: Study, secrets: Secrets, wish: Wish) -> Export:
    """The table with the columns that somebody may see now.

    Raises Problem 404: no such table; 403: a right is missing; 409: the table is sealed until unblinding, or the
    server's allocation key differs from the one at the study's lock.
    """
    table = tables(study).get(wish.table)
    if table is None:
        raise not_found()
    rights = _rights(study, wish.who)
    if not table.rights <= rights:
        raise forbidden()
    if not table.is_open(study.state):
        raise conflict("blinded", "This stays sealed until the study is unblinded.")
    if study.state == StudyState.UNBLINDED:
        seed_of(study, secrets)  # another key would find every record damaged
        take_out(session, study.id, secrets)  # for records that arrived after the unblinding
    return Export(Source(study.id, secrets.allocation), study.name, table, table.seen(study.state, rights))


def sees(study: Study, table: Table, who: Caller | None) -> bool:
    """Whether somebody may see any column of a table now."""
    return bool(table.seen(study.state, _rights(study, who)))


def _rights(study: Study, who: Caller | None) -> frozenset[Right]:
    return who.rights_in(study.id) if who else EVERY_RIGHT


def stream(database: Database, export: Export, form: Format) -> Iterator[bytes]:
    """The file in pieces. It shows the database at the time of the first piece."""
    with database.reading() as session:
        at_one_moment(session)
        yield from encoded(form, export.columns, export.table.read(session, export.source, export.columns))


def write(database: Database, export: Export, form: Format, folder: Path) -> Path:
    """Write the file into a folder, and return its path."""
    path = folder / export.file_name(form)
    with path.open("wb") as file:
        file.writelines(stream(database, export, form))
    return path


def catalogue(study: Study, who: Caller) -> list[dict[str, Any]]:
    """Every table and column, and whether the caller may see it now."""
    rights = who.rights_in(study.id)
    return [
        {
            "table": table.name,
            "about": table.about,
            "available": bool(table.seen(study.state, rights)),
            "columns": [_described(column, column in table.seen(study.state, rights)) for column in table.columns],
        }
        for table in tables(study).values()
    ]


def _described(column: Column, available: bool) -> dict[str, Any]:  # noqa: FBT001 - a field's value
    fields = {"name": column.name, "type": column.kind, "unit": column.unit, "about": column.about}
    return fields | {"available": available}


DICTIONARY = (
    Column("table", Kind.TEXT, "The table's name."),
    Column("column", Kind.TEXT, "The column's name."),
    Column("type", Kind.TEXT, "text, integer, number or boolean."),
    Column("unit", Kind.TEXT, "The unit of an integer or a number. Empty: a plain count."),
    Column("blinded", Kind.BOOLEAN, "Whether it stays sealed until the study is unblinded."),
    Column("about", Kind.TEXT, "The column's description."),
)


def _dictionary(data: Sequence[Table]) -> Table:
    """The data dictionary: a row for each column of each table, itself included."""
    name, about = "dictionary", "A description of each column of each table."

    def read(_session: Session, _source: Source, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
        for table in (*data, Table(name, about, DICTIONARY, read)):
            for each in table.columns:
                row = {
                    "table": table.name,
                    "column": each.name,
                    "type": str(each.kind),
                    "unit": each.unit,
                    "blinded": each.blinded or table.blinded,
                    "about": each.about,
                }
                yield tuple(row[column.name] for column in columns)

    return Table(name, about, DICTIONARY, read)
