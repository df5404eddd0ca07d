# SPDX-License-Identifier: GPL-2.0-or-later
"""Checking a server: configuration, secrets, database, audit log, records, traces, disk space."""

import hashlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from happe_study.base import fingerprints
from happe_study.base.config import Config, ConfigError, Secrets, is_loopback, load_secrets
from happe_study.base.database import Database
from happe_study.base.s3 import AwayError, CredentialsError, NotOwnerError
from happe_study.model.audit.verify import verify_log
from happe_study.model.participants import Participant
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.model.traces import SweptPart, Trace, TracePart
from happe_study.operations import migrations
from happe_study.study.sealing import SealError, open_record, open_seed
from happe_study.study.traces.sealed import manifest_of, seal_of
from happe_study.study.traces.storage import Folder, Part, Storage, Stored
from happe_study.study.traces.stores import storage_of

OTHERS = 0o077
WRITABLE = 0o022
YOUNG_SECONDS = 3600
SWEEP = "`happe-server check --sweep` removes it"
SWEEP_LATER = "`happe-server check --sweep` deletes it 30 days after its first sweep; look first whether it was lost"
ROWS_AT_ONCE = 100
MOST_NAMED = 20
LITTLE_ROOM = 4  # a warning if less is free than this many times `limits.free_bytes`


class Verdict(StrEnum):
    """The result of a check in a word."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """The result of a check: its subject, the verdict, details, and advice."""

    what: str
    verdict: Verdict
    detail: str
    advice: str = ""


def check(path: Path, config: Config, database: Database, *, deep: bool) -> Iterator[Finding]:
    """Check everything. Later checks rely on earlier ones. `deep` reads every byte of the traces."""
    yield from _configuration(path, config)
    yield from _folders(config)
    try:
        secrets = load_secrets(config.secrets_folder)
    except ConfigError as error:
        secrets = None
        yield _wrong_secrets(error)
    else:
        yield Finding("secrets", Verdict.OK, str(config.secrets_folder))
    revision = _revision(database)
    yield revision
    if revision.verdict is Verdict.OK:
        yield from _database(config, database, secrets, deep=deep)
        yield from _store(config, database)
    yield from _leftovers(config)
    yield _room(config)


def _configuration(path: Path, config: Config) -> Iterator[Finding]:
    wrong = []
    if path.stat().st_mode & WRITABLE:
        wrong.append(("other users can write to it", f"chmod go-w {path}"))
    if config.database_url and ":" in config.database_url.partition("://")[2].rpartition("@")[0]:
        wrong.append(("it holds a password", "move database_url to a file of its own and name it in database_url_file"))
    endpoint = urlsplit(config.s3.endpoint or "" if config.s3 else "")
    if endpoint.scheme == "http" and not is_loopback(f"{endpoint.hostname}:0"):
        wrong.append((f"others may read what the server sends to {endpoint.netloc}", "use https:// in s3.endpoint"))
    if not is_loopback(config.listen):
        wrong.append((f"other machines reach {config.listen} without TLS", "listen on 127.0.0.1 behind a proxy"))
    if config.https and not config.trusted_proxies:
        wrong.append(
            ("public_url is https, but no proxy is trusted", "set trusted_proxies to 1 if one proxy stands in front")
        )
    for detail, advice in wrong:
        yield Finding("configuration", Verdict.WARN, f"{path}: {detail}", advice)
    if not wrong:
        yield Finding("configuration", Verdict.OK, str(path))


def _folders(config: Config) -> Iterator[Finding]:
    for folder in (config.data, config.secrets_folder):
        if folder.is_dir() and folder.stat().st_mode & OTHERS:
            mode = f"other users may enter it (mode {folder.stat().st_mode & 0o777:03o})"
            yield Finding("folders", Verdict.FAIL, f"{folder}: {mode}", f"chmod 700 {folder}")


def _wrong_secrets(error: ConfigError) -> Finding:
    wrong, _, advice = str(error).partition("\n")
    return Finding("secrets", Verdict.FAIL, wrong, advice)


def _revision(database: Database) -> Finding:
    try:
        found, wanted = migrations.current(database), migrations.head()
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", error)).partition("\n")[0]
        advice = "restore a backup" if database.is_sqlite else "start it; see database_url"
        return Finding("database", Verdict.FAIL, f"it does not answer: {said}", advice)
    if found == wanted:
        return Finding("database", Verdict.OK, f"{database.url.get_backend_name()}, revision {found}")
    advice = "happe-server migrate" if found is None or migrations.is_known(found) else "run the program that made it"
    return Finding("database", Verdict.FAIL, f"revision {found or 'none'}, this program needs {wanted}", advice)


def _database(config: Config, database: Database, secrets: Secrets | None, *, deep: bool) -> Iterator[Finding]:
    if database.is_sqlite and (said := _integrity(database, deep=deep)) != "ok":
        yield Finding("database", Verdict.FAIL, f"it is damaged: {said}", "restore a backup")
        return
    yield _audit(database)
    if secrets is not None:
        try:
            fingerprints.require(database, secrets)
        except ConfigError as error:
            yield _wrong_secrets(error)
        yield from _seals(database, secrets.allocation)
    yield from _traces(config, database, deep=deep)


def _integrity(database: Database, *, deep: bool) -> str:
    """The result of SQLite's own check of its file: "ok", or the fault in one line."""
    try:
        with database.reading() as session:
            said: str = session.scalar(text(f"PRAGMA {'integrity_check' if deep else 'quick_check'}(1)"))
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", error))
    return " ".join(said.split())


def _audit(database: Database) -> Finding:
    with database.reading() as session:
        report = verify_log(session)
    if report.is_whole:
        return Finding("audit log", Verdict.OK, f"{report.entries} entries, head {report.head}")
    faults = ", ".join(f"{fault} at {number}" for number, fault in report.faults[:5])
    return Finding(
        "audit log", Verdict.FAIL, faults, "find out who could write to the database; `audit verify` lists all faults"
    )


def _seals(database: Database, key: bytes) -> Iterator[Finding]:
    """Check that the allocation key opens each locked study's seed, records and manifests."""
    with database.reading() as session:
        sealed = session.execute(select(Study).where(Study.seed_sealed.is_not(None)).order_by(Study.id)).scalars()
        for study in sealed.all():
            try:
                open_seed(key, study.name, study.seed_sealed or b"")
            except SealError:
                advice = "restore the allocation.key that the study was locked with"
                said = f"the seal of {study.name} does not open with this allocation key"
                yield Finding("allocation", Verdict.FAIL, said, advice)
            else:
                yield from _records(session, study, key)
                yield from _manifests(session, study, key)


def _records(session: Session, study: Study, key: bytes) -> Iterator[Finding]:
    """Find the records of a study that do not open."""
    mine = select(Run.code, RunRecord.document).join(RunRecord).join(Participant, Run.participant_id == Participant.id)
    rows = session.execute(mine.where(Participant.study_id == study.id), execution_options={"yield_per": ROWS_AT_ONCE})
    damaged = sorted({code for code, document in rows if not _opens(key, code, document)})
    if damaged:
        named = ", ".join(damaged[:MOST_NAMED]) + (", and more" if len(damaged) > MOST_NAMED else "")
        said = f"{len(damaged)} of {study.name} do not open: of the runs {named}"
        advice = "somebody changed the database: restore them from a backup, and find out who could write to it"
        yield Finding("records", Verdict.FAIL, said, advice)


def _manifests(session: Session, study: Study, key: bytes) -> Iterator[Finding]:
    """Find the power traces of a study whose manifest or key does not open."""
    for number in session.scalars(select(Trace.id).where(Trace.study_id == study.id).order_by(Trace.client_id)).all():
        trace = session.get_one(Trace, number)
        try:
            manifest_of(trace, key)
            seal_of(trace, 0, key)
        except SealError:
            advice = "somebody changed the database: restore it from a backup, and find out who could write to it"
            yield Finding("traces", Verdict.FAIL, f"the manifest or the key of {trace.client_id} does not open", advice)
        session.expunge(trace)


def _opens(key: bytes, code: str, document: bytes) -> bool:
    try:
        open_record(key, code, document)
    except SealError:
        return False
    return True


def _traces(config: Config, database: Database, *, deep: bool) -> Iterator[Finding]:
    try:
        storage = storage_of(config, database)
        found = look(storage, database, deep=deep)
        orphans = _advice_on_orphans(storage)
    except (AwayError, ConfigError):
        return  # `_store` reports this
    advice = "restore it from a copy of the bucket" if config.s3 else "restore it from a backup"
    for name in found.missing:
        yield Finding("traces", Verdict.FAIL, f"{name} is missing", advice)
    for name in found.damaged:
        yield Finding("traces", Verdict.FAIL, f"{name} differs from what the server received", advice)
    for name in found.orphans:
        yield Finding("traces", Verdict.WARN, f"the database does not know {name}", orphans)
    if not (found.missing or found.damaged or found.orphans):
        swept = f"; {len(found.swept)} unknown ones wait for a sweep to delete them" if found.swept else ""
        said = f"{found.parts} parts, {found.bytes} bytes{', each read' if deep else ''}{swept}"
        yield Finding("traces", Verdict.OK, said)


def _advice_on_orphans(storage: Storage) -> str:
    try:
        storage.require_owner()
    except NotOwnerError:
        return "leave it: it belongs to the bucket's owner, or came after the backup that this copy is from"
    return SWEEP_LATER


def _leftovers(config: Config) -> Iterator[Finding]:
    """Find old files of unfinished uploads and restorations."""
    uploads = [path for path in Folder(config.traces_folder).unfinished() if _is_old(path)]
    restores = [path for path in config.data.glob(".restoring*") if _is_old(path)]
    for path in uploads + restores:
        advice = SWEEP if path in uploads else "remove it"
        yield Finding("leftovers", Verdict.WARN, f"{path} was never finished", advice)


def _store(config: Config, database: Database) -> Iterator[Finding]:
    """Check that the bucket, if there is one, works as the server needs it."""
    if config.s3 is None:
        return
    from happe_study.study.traces.bucket import Bucket  # noqa: PLC0415 - it takes 30 MB, which a folder saves

    where, advice = config.s3.address, "see docs/how-to/several-servers.md"
    try:
        bucket = Bucket(config.traces_folder, config.s3, database)
        fault = bucket.fault()
    except CredentialsError as error:
        yield Finding("store", Verdict.FAIL, str(error), advice)
    except AwayError as error:
        yield Finding("store", Verdict.FAIL, f"{where} can't be used: {error}", advice)
    except NotOwnerError as error:
        other = bucket.owner()
        verdict = Verdict.WARN if other and other.database else Verdict.FAIL
        yield Finding("store", verdict, str(error), "if it replaces that server: `happe-server takeover`")
    else:
        said = f"{where}: {fault}" if fault else where
        yield Finding("store", Verdict.FAIL if fault else Verdict.OK, said, advice if fault else "")


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime > YOUNG_SECONDS
    except FileNotFoundError:
        return False


def _room(config: Config) -> Finding:
    free, least = shutil.disk_usage(config.data).free, config.limits.free_bytes
    detail = f"{free} bytes free on the disk of {config.data}"
    if free < least:
        return Finding(
            "room", Verdict.FAIL, f"{detail}, {least} must stay free", "make room before uploads are refused"
        )
    verdict = Verdict.WARN if free < LITTLE_ROOM * least else Verdict.OK
    return Finding("room", verdict, detail, "make room soon" if verdict is Verdict.WARN else "")


@dataclass
class Found:
    """The result of the comparison. Names are UUID/NUMBER, which reveal no run or condition.

    `orphans` and `swept` are parts that no row names; a sweep has found those in `swept`, and a later one deletes them.
    """

    parts: int = 0
    bytes: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)


def look(storage: Storage, database: Database, *, deep: bool) -> Found:
    """Compare stored parts with their rows. `deep` reads every part and compares its SHA-256. Raises AwayError."""
    found, there = Found(), {each.key: each for trace in storage.traces() for each in storage.stored(trace)}
    for part, size in _rows(database).items():
        found.parts += 1
        found.bytes += size
        fault = _fault(storage, there.get(storage.key(part)), part, size, deep=deep)
        if fault is not None and part in _rows(database, part.trace):  # unless it was erased meanwhile
            getattr(found, fault).append(_shown(part))
    later = {storage.key(part) for part in _rows(database)}
    with database.reading() as session:
        swept = set(session.scalars(select(SweptPart.key)))
    for key, each in sorted(there.items()):
        if key not in later and each.is_old:
            (found.swept if key in swept else found.orphans).append(_shown(each))
    return found


def _rows(database: Database, trace: UUID | None = None) -> dict[Part, int]:
    """The parts that the database names, with their sizes."""
    rows = select(Trace.client_id, TracePart.number, TracePart.sha256, TracePart.bytes).join(
        TracePart, TracePart.trace_id == Trace.id
    )
    if trace is not None:
        rows = rows.where(Trace.client_id == str(trace))
    with database.reading() as session:
        ordered = rows.order_by(Trace.client_id, TracePart.number)
        return {Part(UUID(row[0]), row[1], row[2]): row[3] for row in session.execute(ordered)}


def _fault(storage: Storage, stored: Stored | None, part: Part, size: int, *, deep: bool) -> str | None:
    """The name of the list in Found to which a part belongs; None if the part is right."""
    try:
        if stored is None:  # it may have arrived after the store was listed
            storage.read(part)
            return None
        if stored.bytes != size:
            return "damaged"
        if deep and hashlib.sha256(storage.read(part)).hexdigest() != part.sha256:
            return "damaged"
    except FileNotFoundError:
        return "missing"
    return None


def _shown(part: Part | Stored) -> str:
    return f"{part.trace}/{part.number}"
