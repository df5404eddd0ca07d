# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploaded documents: reading their bodies from requests, and reporting their faults as problems."""

from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any, TypeVar

from flask import Flask, request

from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, Problem, too_large, unprocessable

View = TypeVar("View", bound=Callable[..., Any])

JSON = frozenset({"application/json"})
ORDINARY_BYTES = 16 << 10  # of a body, unless its view says otherwise
MOST_VALUES = 400  # of a form, of a query, and of JSON that no schema of the contract describes


def openapi_body(kind: Kind) -> dict[str, Any]:
    """The OpenAPI description of a request whose body is a document of the contract."""
    schema = {"type": "object", "description": f"profiles/schema/{kind}.schema.json"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def takes(most: int | str) -> Callable[[View], View]:
    """Mark a view as taking a body of at most `most` bytes, or of the configuration's `limits.MOST`."""

    def mark(view: View) -> View:
        view.happe_most_bytes = most  # type: ignore[attr-defined] # an attribute of our own
        return view

    return mark


def bound_body(app: Flask) -> None:
    """Raise Problem 413 for a request that is too large, before anything reads its body."""
    most = getattr(app.view_functions.get(request.endpoint or ""), "happe_most_bytes", ORDINARY_BYTES)
    if isinstance(most, str):
        most = getattr(parts().config.limits, most)
    if (request.content_length or 0) > most:
        raise too_large(f"The server takes at most {most} bytes here.")
    if request.query_string.count(b"&") >= MOST_VALUES:
        raise too_large(f"The server takes at most {MOST_VALUES} parameters.")
    request.max_content_length = most


def json_body() -> bytes:
    """The request's JSON, not parsed. Raises Problem 415 for another type or a coded body.

    The server refuses content codings, because a few kilobytes of gzip can expand to gigabytes.
    """
    require_type(JSON)
    return request.get_data(cache=False)


def require_type(types: Collection[str]) -> None:
    """Raise Problem 415 unless the body has one of these media types and no content coding."""
    if request.mimetype not in types:
        raise _unsupported(f"Send {' or '.join(sorted(types))}.")
    if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise _unsupported("Send the body without a Content-Encoding.")


def of_document(error: BadDocumentError) -> Problem:
    """422: the document breaks its contract; the problem lists the faults."""
    return unprocessable(
        "The document breaks its contract, which is in docs/uploads.md.",
        *(FieldError(fault.pointer, fault.detail) for fault in error.faults),
    )


def _unsupported(detail: str) -> Problem:
    return Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", detail)
