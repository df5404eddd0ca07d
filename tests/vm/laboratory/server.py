# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server of the emulated laboratory, run as an operator runs it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

import study_server
from happe_study.base.database import Database
from happe_study.runs.course.models import RunRecord
from study_server import ADMINISTRATOR, PASSWORD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.orm import Session

STUDY = "laboratory"
INVESTIGATOR, EXPERIMENTER = "ines@example.org", "eve@example.org"

Json = dict[str, Any]

__all__ = ["ADMINISTRATOR", "EXPERIMENTER", "INVESTIGATOR", "PASSWORD", "STUDY", "Json", "StudyServer"]


class StudyServer(study_server.StudyServer):
    """A server in a new folder, with the study locked in it."""

    def __init__(self, folder: Path) -> None:
        """Make it. Ana is administrator and custodian, Ines is investigator, Eve is experimenter."""
        folder.mkdir()
        super().__init__(folder, Path(__file__).with_name("crossover.toml"), STUDY)
        self.run("user", "grant", ADMINISTRATOR, "custodian", "--study", STUDY)
        for email, role in ((EXPERIMENTER, "experimenter"), (INVESTIGATOR, "investigator")):
            self.run("user", "add", email, "--password-file", str(folder / "password"))
            self.run("user", "grant", email, role, "--study", STUDY)
        self.run("study", "lock", STUDY, "--yes")

    def record_sizes(self) -> set[int]:
        """Return the lengths of the sealed records in the database."""
        with self._reading() as session:
            return set(session.scalars(select(func.length(RunRecord.document))))

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        """Open the server's database for reading."""
        database = Database(f"sqlite:///{self.folder / 'data/server.db'}")
        with database.reading() as session:
            yield session
        database.dispose()
