# SPDX-License-Identifier: GPL-2.0-or-later
"""What uploads are measured against: the same framework and database, one validated insert a request, nothing else.

It is written as the framework's documents do it: APIFlask validates the input by a model of pydantic, SQLAlchemy's
session adds an object, and each request is a transaction. It takes the very record that is uploaded, and knows no
tokens, runs, second sending of the same, or audit log.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from apiflask import APIFlask
from flask import request
from sqlalchemy import MetaData
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Database, Digest, Micros, Serial
from record_model import Record

if TYPE_CHECKING:
    from happe_study.base.config import Config


class Reference(Base):
    """The reference's tables, which the study server's database has not."""

    __abstract__ = True
    metadata = MetaData()


class Document(Reference):
    """A record as it came, and nothing else of it."""

    __tablename__ = "reference_documents"

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    client_id: Mapped[str] = mapped_column(Digest, unique=True)
    run: Mapped[str] = mapped_column(Code)
    content: Mapped[bytes]
    at_us: Mapped[int] = mapped_column(Micros)


def create_reference(config: Config) -> APIFlask:
    """The reference's application, on a database that has its table."""
    app = APIFlask("reference", spec_path=None, docs_path=None)
    database = Database(config.url, pool_size=config.threads)

    @app.put("/documents/<client_id>")
    @app.input(Record, location="json")
    def keep(client_id: str, json_data: Record) -> tuple[dict[str, bool], int]:
        with database.writing() as session:
            row = {"client_id": client_id, "run": json_data.run, "content": request.get_data()}
            session.add(Document(**row, at_us=time.time_ns() // 1000))
        return {"stored": True}, 201

    return app
