# SPDX-License-Identifier: GPL-2.0-or-later
"""A report made by a process of its own, `python -m happe_study.results.reports.job`.

It is told what to make on standard input, with the server's secrets that it needs. So a server's workers stay free, and
a report outlives the worker that began it. It holds the study's lock (locks.py) as long as it lives. It ends without a
word when its report is not there any more: somebody has withdrawn, and what it was making holds their data.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sqlalchemy import select, update

from happe_study.access.rights import Right
from happe_study.base.clock import now_us
from happe_study.base.database import Database
from happe_study.base.tables.formats import Format
from happe_study.design.study import Study
from happe_study.evidence.documents import services as documents
from happe_study.evidence.documents.models import DocumentKind
from happe_study.evidence.documents.reading import InputError
from happe_study.results.exports import services as exports
from happe_study.results.exports.table import Source
from happe_study.results.reports import locks
from happe_study.results.reports.models import Report, ReportFile

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

GENTLE = 10  # niceness: workers answer first
TABLES = ("runs", "ratings", "participants", "records", "keys", "samples", "study")
SECTIONS = 12  # of the analysis, with reading
PAGE = "page.json"
LONGEST = 2000  # characters of why it failed
STOPPED = 128 + signal.SIGTERM
TOLD_TO_STOP = threading.Event()


class _GoneError(Exception):
    """The report was forgotten."""


@dataclass(frozen=True)
class Order:
    """What to make, with what. `resamples` is the bootstrap's."""

    data: str
    database_url: str
    key: str  # that records are sealed by, hexadecimal
    study_id: int
    report_id: int
    requested_us: int  # of the report; another one may get the number of one that was removed
    resamples: int
    lock: int  # the descriptor that holds the study's lock

    def encoded(self) -> bytes:
        """As the process reads it."""
        return json.dumps(asdict(self)).encode()


class Job:
    """A report in the making."""

    def __init__(self, order: Order) -> None:
        """Connect to nothing yet."""
        self.order = order
        self.database = Database(order.database_url, pool_size=1)
        asked_for = Report.study_id == order.study_id, Report.requested_us == order.requested_us
        self._mine = Report.id == order.report_id, *asked_for
        self._step = 0

    def run(self) -> None:
        """Make it; whatever becomes of it is in the database."""
        work = locks.work(Path(self.order.data), self.order.study_id)
        try:
            shutil.rmtree(work, ignore_errors=True)  # of one that died
            work.mkdir(mode=0o700)
            self._make(self.order.study_id, work)
        except _GoneError:
            return
        except InputError as error:
            self._ended("\n".join(error.lines).replace(f"{work}/export/", "").replace(f"{work}/", ""))
        except ModuleNotFoundError as error:
            self._ended(f"The Python package {error.name} is missing: install happe-study-server[analysis].")
        except MemoryError:
            self._ended("There was not enough memory.")
        except Exception as error:  # noqa: BLE001 - whatever it is, somebody waits for it
            if TOLD_TO_STOP.is_set():  # a library below can make an error of its own of the exit
                return
            self._ended(f"A mistake of the program's: {type(error).__name__}. Please report it.")
        finally:
            shutil.rmtree(work, ignore_errors=True)
            os.close(self.order.lock)
            self.database.dispose()

    def _make(self, study_id: int, work: Path) -> None:
        (work / "export").mkdir()
        with self.database.reading() as session:
            self._export(session.get_one(Study, study_id), work / "export")
            inputs = dict(self._inputs(session, study_id, work))
        making, pages = (import_module(f"happe_study.results.analysis.{name}") for name in ("making", "pages"))
        given = making.Given(
            work / "export",
            power=work / documents.NAMES[DocumentKind.MEASURES] if "measures.json" in inputs else None,
            machine=work / documents.NAMES[DocumentKind.MODEL] if "machine.json" in inputs else None,
            resamples=self.order.resamples,
        )
        report = making.make(given, self._doing)
        self._doing("drawing")
        figures = {
            f"{picture.key}.svg": ("image/svg+xml", pages.svg(picture))
            for section in report.sections
            for picture in section.pictures
        }
        files = {
            PAGE: ("application/json", pages.shown(report)),
            "report.html": ("text/html; charset=utf-8", pages.html(report)),
            "results.json": ("application/json", pages.results(report)),
            "report.pdf": ("application/pdf", pages.pdf(report)),
            **{name: ("application/json", content) for name, content in inputs.items()},
            **figures,
        }
        self._ended(None, files)

    def _export(self, study: Study, out: Path) -> None:
        """The tables as `happe-server study export` writes them."""
        known = exports.tables(study)
        for name in TABLES:
            self._doing(f"exporting {name}")
            table = known[name]
            made = exports.Export(
                Source(study.id, bytes.fromhex(self.order.key)),
                study.name,
                table,
                table.seen(study.state, frozenset(Right)),
            )
            with (out / made.file_name(Format.CSV)).open("wb") as file:
                file.writelines(exports.stream(self.database, made, Format.CSV))

    def _inputs(self, session: Session, study_id: int, work: Path) -> list[tuple[str, bytes]]:
        study = session.get_one(Study, study_id)
        found = []
        for kind, name in documents.NAMES.items():
            document = documents.find(session, study, kind)
            if document is not None:
                (work / name).write_bytes(document.content)
                found.append((name, document.content))
        return found

    def _doing(self, what: str) -> None:
        self._step += 1
        self._change(step=self._step, steps=len(TABLES) + SECTIONS + 1, doing=what[:255])

    def _ended(self, failed: str | None, files: dict[str, tuple[str, bytes]] | None = None) -> None:
        """The files and the word that they are there come in one transaction."""
        with self.database.writing() as session:
            report = session.scalar(select(Report).where(*self._mine).with_for_update())
            if report is None:
                return
            report.finished_us, report.failed = now_us(), failed and failed[:LONGEST]
            report.doing = ""
            for name, (media_type, content) in (files or {}).items():
                session.add(ReportFile(report_id=report.id, name=name, media_type=media_type, content=content))

    def _change(self, **values: object) -> None:
        with self.database.writing() as session:
            changed = session.scalar(update(Report).where(*self._mine).values(**values).returning(Report.id))
        if changed is None:
            raise _GoneError


def _stop(*_: object) -> NoReturn:
    TOLD_TO_STOP.set()
    sys.exit(STOPPED)


def main() -> None:
    """Make the report that standard input orders. Told to stop, as with the server, it leaves nothing behind."""
    signal.signal(signal.SIGTERM, _stop)
    order = Order(**json.loads(sys.stdin.buffer.read()))
    with suppress(OSError):
        os.nice(GENTLE)
    Job(order).run()


if __name__ == "__main__":
    main()
