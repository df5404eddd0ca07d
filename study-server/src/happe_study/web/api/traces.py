# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces over HTTP: a meter begins a trace, sends its parts and seals it; staff see the progress."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from typing import IO, Annotated, Any
from uuid import UUID

from apiflask import APIBlueprint
from flask import g, request
from pydantic import BaseModel, Field
from werkzeug.exceptions import HTTPException

from happe_contract.schemas import MOST_BYTES, Kind
from happe_study.base.fields import Closed
from happe_study.base.paging import MOST_ROWS
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, bad_request
from happe_study.base.uploads import json_body, openapi_body, require_type, takes
from happe_study.model.rights import Right
from happe_study.model.rules import caller, device, staff
from happe_study.model.traces import Trace
from happe_study.study.traces import services
from happe_study.study.traces.manifest import missing
from happe_study.study.traces.parts import LEAST_BYTES, BadHeaderError, content_digest, require_if_none_match
from happe_study.study.traces.services import Announced
from happe_study.study.traces.storage import Storage
from happe_study.study.traces.stores import storage_of

api = APIBlueprint("traces", __name__, url_prefix="/api/v1", tag="Power traces")

Json = dict[str, Any]

MOST_PARTS = 32768  # profiles/schema/power-trace-manifest.schema.json
MOST_LISTED = 1000
PARQUET = frozenset({"application/vnd.apache.parquet", "application/octet-stream"})
PIECE = 1 << 20
NUMBER = f"int(max={MOST_PARTS - 1})"


class TraceOut(BaseModel):
    """A trace, as its meter sees it: whether it is sealed, and how many parts the server has."""

    trace: str
    sealed: bool
    received: int


class PartOut(BaseModel):
    """A part that is on the server's disk."""

    trace: str
    number: int
    sha256: str


class Count(BaseModel):
    """The number of parts that the meter has, numbered from 0."""

    count: Annotated[int, Field(ge=0, le=MOST_PARTS)]


class MissingOut(BaseModel):
    """The numbers of missing parts below the count, at most the first 1000."""

    missing: list[int]


class ProgressOut(BaseModel):
    """A trace, as staff see it: neither bytes nor watts, which would reveal conditions."""

    trace: str
    meter: str
    laptop: str | None
    created_us: int
    sealed_us: int | None
    received: int
    of: int | None
    seconds: int


class TracesPage(Closed):
    """The part of a study's traces that a request asks for: those after the id `after`."""

    after: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = MOST_ROWS


class TracesOut(BaseModel):
    """A page of traces, in the order of their ids; `next` is the `after` of the page that follows, null at the end."""

    traces: list[ProgressOut]
    next: str | None


NOT_WHOLE = (
    "The trace is sealed with another manifest; or parts differ, as `missing`, `mismatched` and `unexpected` list."
)
PART_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}}},
    },
    "parameters": [
        {"name": "Content-Digest", "in": "header", "required": True, "schema": {"type": "string"}},
        {"name": "If-None-Match", "in": "header", "required": True, "schema": {"type": "string", "enum": ["*"]}},
    ],
}


@api.put("/traces/<uuid:trace>")
@device()
@takes(MOST_BYTES[Kind.POWER_TRACE])
@api.output(TraceOut, 201)
@api.doc(
    responses={
        200: "The server has it already.",
        404: "The server erased this trace when a participant withdrew.",
        409: "The server has another header under this id.",
    },
    extensions=openapi_body(Kind.POWER_TRACE),
)
def put_trace(trace: UUID) -> tuple[Json, int]:
    """Begin a trace with its header. The meter chooses the id and may send it again."""
    _storage().require_owner()
    header = services.read_header(json_body(), trace)
    row, new = services.begin(parts().database, header, caller(), parts().secrets.allocation)
    return _state(row, 0) if new else _found(trace), 201 if new else 200


@api.get("/traces/<uuid:trace>")
@device()
@api.output(TraceOut)
def get_trace(trace: UUID) -> Json:
    """Read the progress of a trace of this meter."""
    return _found(trace)


@api.get("/traces/<uuid:trace>/missing")
@device()
@api.input(Count, location="query")
@api.output(MissingOut)
def get_missing(trace: UUID, query_data: Count) -> Json:
    """List the parts of a trace that the server does not have yet."""
    with parts().database.reading() as session:
        here = services.received(session, services.find(session, trace, caller()))
    return {"missing": missing(query_data.count, here, MOST_LISTED)}


@api.put(f"/traces/<uuid:trace>/parts/<{NUMBER}:number>")
@device()
@takes("part_bytes")
@api.output(PartOut, 201)
@api.doc(
    responses={
        200: "The server has it already.",
        409: "The server has other bytes under this number, or the trace is sealed.",
        411: "Without Content-Length.",
        412: "If-None-Match is not *.",
        428: "Without If-None-Match.",
    },
    extensions=PART_BODY,
)
def put_part(trace: UUID, number: int) -> tuple[Json, int]:
    """Upload a part. Nothing replaces it later. When the server answers, the part is on the disk."""
    with _body() as body:
        announced = _announced(number)
        key = parts().secrets.allocation
        uploads = services.Uploads(parts().database, _storage(), parts().config.limits, key)
        new = uploads.put(trace, announced, body, caller())
    return {"trace": str(trace), "number": number, "sha256": announced.sha256}, 201 if new else 200


@api.put("/traces/<uuid:trace>/seal")
@device()
@takes(MOST_BYTES[Kind.POWER_TRACE_MANIFEST])
@api.output(TraceOut)
@api.doc(responses={409: NOT_WHOLE}, extensions=openapi_body(Kind.POWER_TRACE_MANIFEST))
def seal_trace(trace: UUID) -> Json:
    """Seal a trace with its manifest, once the server has every part. The meter may send the manifest again."""
    _storage().require_owner()  # after the answer the meter deletes its samples
    raw = json_body()
    with parts().database.reading() as session:
        sealing = services.read_manifest(session, raw, trace, caller())
    with parts().database.writing() as session:
        services.seal(session, trace, sealing, caller(), parts().secrets.allocation)
    return _found(trace)


@api.get("/studies/<study>/traces")
@staff(Right.DEVICE_READ)
@api.input(TracesPage, location="query")
@api.output(TracesOut)
@api.doc(responses={422: "There is no such page."})
def list_traces(study: str, query_data: TracesPage) -> Json:
    """List the progress of a study's traces."""
    study_id, limit = g.happe_study_ids(study), query_data.limit
    with parts().database.reading() as session:
        found = services.progress(session, study_id, query_data.after, limit + 1)
    following = found[limit - 1].trace if len(found) > limit else None
    return {"traces": [vars(each) for each in found[:limit]], "next": following}


def _storage() -> Storage:
    return storage_of(parts().config, parts().database)


def _found(trace: UUID) -> Json:
    with parts().database.reading() as session:
        row = services.find(session, trace, caller())
        return _state(row, len(services.received(session, row)))


def _state(row: Trace, received: int) -> Json:
    return {"trace": row.client_id, "sealed": row.sealed_us is not None, "received": received}


def _announced(number: int) -> Announced:
    """The part's number, size and digest from the request's headers. Raises Problem 400, 411, 412, 415, 428."""
    if request.content_length is None:
        raise Problem(HTTPStatus.LENGTH_REQUIRED, "length-required", "Send the part with its Content-Length.")
    require_type(PARQUET)
    condition = request.headers.get("If-None-Match")
    try:
        require_if_none_match(condition)
    except BadHeaderError as error:
        status = HTTPStatus.PRECONDITION_REQUIRED if condition is None else HTTPStatus.PRECONDITION_FAILED
        raise Problem(status, "precondition", f"{error}.") from None
    try:
        digest = content_digest(request.headers.get("Content-Digest"))
    except BadHeaderError as error:
        raise bad_request(f"{error}.") from None
    if request.content_length < LEAST_BYTES:
        raise bad_request(f"A part has at least {LEAST_BYTES} bytes.")
    return Announced(number, request.content_length, digest.hex())


@contextmanager
def _body() -> Iterator[IO[bytes]]:
    """The request's body. At the end this reads the rest, because a client that is still sending reads no answer."""
    body = request.stream
    try:
        yield body
    finally:
        if request.content_length is not None:
            with suppress(OSError, HTTPException):
                while body.read(PIECE):
                    pass
