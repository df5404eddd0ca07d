# SPDX-License-Identifier: GPL-2.0-or-later
"""The files that a job made, in the database. They go with the job's row."""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import BinaryIO

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from happe_study.base.database import Database
from happe_study.model.results import FilePiece

PIECE = 1 << 20


def keep(session: Session, job_id: int, name: str, file: BinaryIO) -> None:
    """Store a file, piece by piece."""
    for at, content in enumerate(iter(partial(file.read, PIECE), b"")):
        session.execute(insert(FilePiece).values(job_id=job_id, name=name, at=at, content=content))


def content(session: Session, job_id: int, name: str) -> bytes:
    """A whole file; empty if there is none."""
    mine = FilePiece.job_id == job_id, FilePiece.name == name
    return b"".join(session.scalars(select(FilePiece.content).where(*mine).order_by(FilePiece.at)))


def names(session: Session, job_id: int) -> set[str]:
    """The names of a job's files."""
    return set(session.scalars(select(FilePiece.name).where(FilePiece.job_id == job_id)))


def pieces(database: Database, job_id: int, name: str) -> Iterator[bytes]:
    """A file's bytes. They end early if somebody removes the file meanwhile."""
    for at in count():
        mine = FilePiece.job_id == job_id, FilePiece.name == name, FilePiece.at == at
        with database.reading() as session:
            found = session.scalar(select(FilePiece.content).where(*mine))
        if found is None:
            return
        yield found
