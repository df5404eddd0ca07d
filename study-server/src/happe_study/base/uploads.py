# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploaded documents: reading their bodies from requests, and reporting their faults as problems."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

from flask import request

from happe_study.base.problems import FieldError, Problem, too_large, unprocessable

if TYPE_CHECKING:
    from collections.abc import Collection

    from flask import Flask

    from happe_contract.faults import BadDocumentError
    from happe_contract.schemas import Kind

View = TypeVar("View", bound=Callable[..., Any])

JSON = frozenset({"application/json"})


def openapi_body(kind: Kind) -> dict[str, Any]:
    """The OpenAPI description of a request whose body is a document of the contract."""
    schema = {"type": "object", "description": f"profiles/schema/{kind}.schema.json"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def with_file(most: int) -> Callable[[View], View]:
    """Mark a view as taking a form with a file, of at most `most` bytes. The server checks the form's token first."""

    def mark(view: View) -> View:
        view.happe_most_bytes = most  # type: ignore[attr-defined] # an attribute of our own
        return view

    return mark


def most_bytes(app: Flask, endpoint: str | None) -> int | None:
    """The most bytes that an endpoint's form may have; None: the general limit holds."""
    return getattr(app.view_functions.get(endpoint or ""), "happe_most_bytes", None)


def json_body(most: int) -> bytes:
    """The request's JSON, not parsed. Raises Problem 413 above `most` bytes, 415 for another type or a coded body.

    The server refuses content codings, because a few kilobytes of gzip can expand to gigabytes.
    """
    require_type(JSON)
    request.max_content_length = most
    if (request.content_length or 0) > most:
        raise too_large(f"A document of this kind may have at most {most} bytes.")
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
