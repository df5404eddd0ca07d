# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces: beginning them, storing their parts, sealing them. The store never loses or changes a stored part."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import IO
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session, aliased, defer

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_contract.strict_json import Json
from happe_study.base.clock import now_us
from happe_study.base.config import Limits
from happe_study.base.database import Database
from happe_study.base.problems import FieldError, Problem, conflict, not_found, storage_full, unprocessable
from happe_study.base.s3 import AwayError, NotOwnerError
from happe_study.base.uploads import of_document
from happe_study.model.audit import chain
from happe_study.model.devices import Device
from happe_study.model.rules import Caller, DeviceKind
from happe_study.model.studies import Study, StudyState
from happe_study.model.traces import Trace, TracePart
from happe_study.study.sealing import part_digest, record_digest
from happe_study.study.traces.manifest import Comparison, check_header, check_manifest, compare
from happe_study.study.traces.parts import parquet_fault
from happe_study.study.traces.sealed import (
    listed_digests,
    new_trace_key,
    part_room,
    seal_of,
    sealed_bytes,
    sealed_manifest,
)
from happe_study.study.traces.storage import Part, Storage
from happe_study.study.traces.upkeep import erased

SECOND = 1_000_000


class NotWholeProblem(Problem):
    """409: a manifest does not match the parts that arrived. The answer lists the numbers of the wrong parts."""

    def __init__(self, found: Comparison) -> None:
        """Make the problem from the comparison of manifest and parts."""
        super().__init__(
            HTTPStatus.CONFLICT, "not-whole", "The received parts are not those of the manifest. Send the missing ones."
        )
        self.found = found

    def document(self) -> dict[str, object]:
        """The problem as RFC 9457 writes it, with the numbers of missing, mismatched and unexpected parts."""
        lists = {name: list(getattr(self.found, name)) for name in ("missing", "mismatched", "unexpected")}
        return super().document() | lists


@dataclass(frozen=True)
class Checked:
    """A trace's header or manifest, and the SHA-256 of the bytes sent (a manifest's without the blanks at its end)."""

    document: Json
    sha256: str


def read_header(raw: bytes, trace: UUID) -> Checked:
    """Read and check the header in a request's body. Raises Problem 422."""
    try:
        document = schemas.read(Kind.POWER_TRACE, raw)
        check_header(document, trace=str(trace))
        return Checked(document, hashlib.sha256(raw).hexdigest())
    except BadDocumentError as error:
        raise of_document(error) from None


def begin(database: Database, header: Checked, meter: Caller, key: bytes) -> tuple[Trace, bool]:
    """Begin a trace, in its own transaction. Returns it, and whether it is new.

    Problem 409: the id has another header; 404: a withdrawal erased the trace. `key` is the server's allocation key.
    """
    try:
        with database.writing() as session:
            return _begin(session, header, meter, key)
    except IntegrityError:  # after our look another meter began a trace with this id, or this one, which sent it twice
        with database.writing() as session:
            return _begin(session, header, meter, key)


def find(session: Session, trace: UUID, meter: Caller, *, lock: bool = False) -> Trace:
    """A meter's own trace, without its manifest. Raises Problem 404 if the meter has no such trace."""
    query = select(Trace).where(Trace.client_id == str(trace), Trace.device_id == meter.id)
    found = session.scalar((query.with_for_update() if lock else query).options(defer(Trace.manifest)))
    if found is None:
        raise not_found()
    return found


def received(session: Session, trace: Trace) -> set[int]:
    """The numbers of the parts that the server has."""
    return set(session.scalars(select(TracePart.number).where(TracePart.trace_id == trace.id)))


@dataclass(frozen=True)
class Announced:
    """A part's number, size and SHA-256 according to the request's headers."""

    number: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Uploads:
    """Stores uploaded parts of traces. `key` is the server's allocation key."""

    database: Database
    storage: Storage
    limits: Limits
    key: bytes = field(repr=False)

    def put(self, trace: UUID, announced: Announced, body: IO[bytes], meter: Caller) -> bool:
        """Store a part. When this returns, the part is in the store. Returns whether it is new.

        Raises AwayError, NotOwnerError; Problem 404: no such trace; 409: the number has other bytes, or the trace is
        sealed; 507: no room; and what `received_part` raises. In these cases it has stored nothing.
        """
        with self.database.reading() as session:
            row = find(session, trace, meter)
            if self._is_known(session, row, announced):
                return False
            seal, room = seal_of(row, announced.number, self.key), part_room(row.header, self.limits.part_bytes)
            self._require_room(session, row, sealed_bytes(announced.bytes, room))
        content = seal.sealed(received_part(body, announced), room)
        part, kept = Part(trace, announced.number, hashlib.sha256(content).hexdigest()), False
        try:
            self.storage.put(part, content)
            with self.database.writing() as session:
                is_new = self._keep(session, part, announced, len(content), meter)
            kept = is_new  # the row is committed
        finally:
            if not kept:
                self._tidy(part)
        return kept

    def _keep(self, session: Session, part: Part, announced: Announced, size: int, meter: Caller) -> bool:
        """Write the row of a part that is in the store. Returns whether it is new."""
        row = find(session, part.trace, meter, lock=True)
        if self._is_known(session, row, announced):
            return False
        self._require_room(session, row, size)
        facts = {"number": part.number, "bytes": size, "sha256": part.sha256}
        facts |= {"digest": part_digest(self.key, announced.bytes, announced.sha256)}
        session.add(TracePart(trace_id=row.id, received_us=now_us(), **facts))
        row.stored_bytes += size
        return True

    def _is_known(self, session: Session, row: Trace, announced: Announced) -> bool:
        """Whether the server has exactly this part. Problem 409: the number has other bytes, or the trace is sealed."""
        query = select(TracePart.digest).where(TracePart.trace_id == row.id, TracePart.number == announced.number)
        there = session.scalar(query)
        if there is not None and there == part_digest(self.key, announced.bytes, announced.sha256):
            return True
        if there is not None:
            raise conflict("part", "The server keeps an earlier part of this number with other bytes.")
        if row.sealed_us is not None:
            raise conflict("sealed", "The trace is sealed and takes no more parts.")
        return False

    def _require_room(self, session: Session, trace: Trace, size: int) -> None:
        """Raise Problem 507 if `size` more bytes exceed the limits of the device, the study or the free disk space.

        On PostgreSQL, meters that upload at the same time may each exceed the study's limit by one part.
        """
        total = select(func.coalesce(func.sum(Trace.stored_bytes), 0))
        of_device = session.scalar(total.where(Trace.device_id == trace.device_id)) or 0
        of_study = session.scalar(total.where(Trace.study_id == trace.study_id)) or 0
        if of_device + size > self.limits.device_bytes:
            raise storage_full("This device has used all of its room. The server's staff can give it more.")
        if of_study + size > self.limits.study_bytes:
            raise storage_full("The study has used all of its room. The server's staff can give it more.")
        if self.storage.free() - size < self.limits.free_bytes:
            raise storage_full()

    def _tidy(self, part: Part) -> None:
        """Remove a part that got no row. If the database or store does not answer, `upkeep` removes it later."""
        with suppress(DBAPIError, AwayError, NotOwnerError), self.database.writing() as session:
            locked = select(Trace.id).where(Trace.client_id == str(part.trace)).with_for_update()
            mine = TracePart.trace_id == session.scalar(locked), TracePart.number == part.number
            here = session.scalar(select(TracePart.sha256).where(*mine))
            if here != part.sha256:
                self.storage.drop(self.storage.key(part))


def received_part(body: IO[bytes], announced: Announced) -> bytes:
    """Read the part in a request's body.

    Raises Problem 400: the part ends early or differs from what was announced; 422: no Parquet file.
    """
    content = bytearray()
    while len(content) < announced.bytes:
        try:
            piece = body.read(announced.bytes - len(content))
        except OSError:
            piece = b""
        if not piece:
            said = "The body is shorter than its Content-Length. Send it again."
            raise Problem(HTTPStatus.BAD_REQUEST, "truncated", said)
        content += piece
    if hashlib.sha256(content).hexdigest() != announced.sha256:
        raise Problem(HTTPStatus.BAD_REQUEST, "digest", "The body does not match its Content-Digest. Send it again.")
    if fault := parquet_fault(content):
        raise unprocessable(f"The part {fault}.")
    return bytes(content)


def read_manifest(session: Session, raw: bytes, trace: UUID, meter: Caller) -> Checked:
    """Read and check the manifest in a request's body, before a transaction writes. Raises Problem 404, 422."""
    first_index = find(session, trace, meter).header["started"]["index"]
    try:
        document = schemas.read(Kind.POWER_TRACE_MANIFEST, raw)
        check_manifest(document, trace=str(trace), first_index=first_index)
        return Checked(document, hashlib.sha256(raw.rstrip(b" ")).hexdigest())
    except BadDocumentError as error:
        raise of_document(error) from None


def seal(session: Session, trace: UUID, sealing: Checked, meter: Caller, key: bytes) -> None:
    """Seal a trace with its manifest: afterwards it takes no more parts. Repeating the same manifest has no effect.

    Raises Problem 404: no such trace; 409: it is sealed with another manifest; NotWholeProblem.
    """
    study = session.get_one(Study, meter.study_id, with_for_update={"read": True})  # so that nobody unblinds it now
    row = find(session, trace, meter, lock=True)
    digest = record_digest(key, sealing.sha256)
    if row.sealed_us is not None:
        if row.manifest_digest != digest:
            raise conflict("sealed", "The trace is sealed with another manifest. The server keeps that one.")
        return
    comparison = compare(listed_digests(key, sealing.document), _digests(session, row))
    if not comparison.whole:
        raise NotWholeProblem(comparison)
    row.manifest_digest, row.sealed_us = digest, now_us()
    if study.state == StudyState.UNBLINDED:
        row.manifest = sealing.document
    else:
        row.manifest_sealed = sealed_manifest(key, row.client_id, sealing.document)
    row.parts = sealing.document["count"]
    row.seconds = (sealing.document["ended"]["monotonic_us"] - row.header["started"]["monotonic_us"]) // SECOND
    chain.append(
        session,
        "trace.sealed",
        meter,
        study_id=meter.study_id,
        trace=str(trace),
        manifest_digest=digest,
        parts=row.parts,
    )


@dataclass(frozen=True)
class Progress:
    """A trace's progress, as staff may know it: neither bytes nor watts. `of` is None until the trace is sealed."""

    trace: str
    meter: str  # code
    laptop: str | None  # code
    created_us: int
    sealed_us: int | None
    received: int  # parts
    of: int | None
    seconds: int  # from the manifest; before it arrives, the received parts times their nominal length


def progress(session: Session, study_id: int, after: UUID | None, most: int) -> list[Progress]:
    """The progress of a study's traces, by their ids: the first `most` after an id, or (None) from the start."""
    meter, laptop = aliased(Device), aliased(Device)
    received = select(func.count()).where(TracePart.trace_id == Trace.id).scalar_subquery()
    seconds = func.coalesce(Trace.seconds, received * Trace.header["part_seconds"].as_integer())
    facts = Trace.client_id, meter.code, laptop.code, Trace.created_us, Trace.sealed_us, received, Trace.parts, seconds
    query = (
        select(*facts)
        .join(meter, Trace.device_id == meter.id)
        .outerjoin(laptop, Trace.laptop_id == laptop.id)
        .where(Trace.study_id == study_id)
        .order_by(Trace.client_id)
        .limit(most)
    )
    if after is not None:
        query = query.where(Trace.client_id > str(after))
    return [Progress(*row) for row in session.execute(query)]


def _begin(session: Session, header: Checked, meter: Caller, key: bytes) -> tuple[Trace, bool]:
    trace = header.document["id"]
    laptop_id = _named(session, header.document, meter)
    known = session.scalar(select(Trace).where(Trace.client_id == trace).options(defer(Trace.manifest)))
    if known is not None:
        if (known.device_id, known.header_sha256) != (meter.id, header.sha256):
            raise _other_header()
        return known, False
    if trace in erased(session, meter.study_id):
        raise not_found("The server erased this trace when a participant withdrew.")
    row = Trace(study_id=meter.study_id, device_id=meter.id, laptop_id=laptop_id, client_id=trace)
    row.header, row.header_sha256, row.created_us = header.document, header.sha256, now_us()
    row.key_sealed = new_trace_key(key, row.client_id)
    session.add(row)
    chain.append(
        session,
        "trace.begun",
        meter,
        study_id=meter.study_id,
        trace=row.client_id,
        header_sha256=header.sha256,
        measured=header.document["measured"],
    )
    return row, True


def _named(session: Session, document: Json, meter: Caller) -> int:
    """The id of the laptop that a header names. Problem 422 unless study, meter and laptop are the sender's."""
    query = select(Device.id).where(Device.code == document["measured"], Device.study_id == meter.study_id)
    laptop_id = session.scalar(query.where(Device.kind == DeviceKind.LAPTOP))
    own = {
        "/study": document["study"] == session.get_one(Study, meter.study_id).name,
        "/meter": document["meter"] == meter.name,
        "/measured": laptop_id is not None,
    }
    details = {"/study": "is not this device's study", "/meter": "is not this device"}
    wrong = [FieldError(at, details.get(at, "is no laptop of this study")) for at, right in own.items() if not right]
    if laptop_id is None or wrong:
        raise unprocessable("The header names devices that the server does not know.", *wrong)
    return laptop_id


def _digests(session: Session, row: Trace) -> dict[int, str]:
    query = select(TracePart.number, TracePart.digest).where(TracePart.trace_id == row.id)
    return {row.number: row.digest for row in session.execute(query)}


def _other_header() -> Problem:
    return conflict("trace", "The server has another header under this id. Make a new id for a new trace.")
