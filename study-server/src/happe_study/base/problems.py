# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors as answers: RFC 9457 problem+json for programs, a page for people. They never repeat the request's values."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

import structlog
from apiflask import HTTPError
from flask import Flask, Response, current_app, json, make_response, redirect, render_template, request
from gunicorn.http.errors import NoMoreData, ParseException
from sqlalchemy.exc import DataError, DBAPIError
from werkzeug.exceptions import HTTPException

from happe_study.base.s3 import AwayError, NotOwnerError

log = structlog.get_logger(__name__)

MOST_ERRORS = 20
MOST_TEXT = 200

# The page that solves a problem, by the problem's kind.
DOORS = {"unauthorized": "/sign-in", "sign-in-again": "/sign-in-again", "password-given": "/password"}


@dataclass(frozen=True)
class FieldError:
    """An error in one value of a request. `pointer` is a JSON pointer (RFC 6901) or a field's name."""

    pointer: str
    detail: str


class Problem(Exception):  # noqa: N818 - RFC 9457's word
    """An answer that is an error. `kind` becomes `urn:happe:problem:KIND`; `detail` tells people what to do."""

    def __init__(
        self,
        status: HTTPStatus,
        kind: str,
        detail: str,
        errors: Sequence[FieldError] = (),
        retry_after: int | None = None,
    ) -> None:
        """`retry_after` is in seconds; None if a later try does not help."""
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.detail = detail
        self.errors = tuple(errors)[:MOST_ERRORS]
        self.retry_after = retry_after

    def document(self) -> dict[str, object]:
        """The problem as RFC 9457 writes it."""
        document: dict[str, object] = {
            "type": f"urn:happe:problem:{self.kind}",
            "title": self.status.phrase,
            "status": int(self.status),
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [{"pointer": e.pointer, "detail": e.detail} for e in self.errors]
        return document


def bad_request(detail: str, *errors: FieldError) -> Problem:
    """400: the server can't read the request."""
    return Problem(HTTPStatus.BAD_REQUEST, "bad-request", detail, errors)


def unprocessable(detail: str, *errors: FieldError) -> Problem:
    """422: the server can read the request, but it breaks a rule."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", detail, errors)


def not_found(detail: str = "It does not exist, or you may not see it.") -> Problem:
    """404: the thing does not exist, or the caller may not know that it does."""
    return Problem(HTTPStatus.NOT_FOUND, "not-found", detail)


def conflict(kind: str, detail: str, *errors: FieldError) -> Problem:
    """409: the request conflicts with what exists already."""
    return Problem(HTTPStatus.CONFLICT, kind, detail, errors)


def forbidden(detail: str = "Your role does not allow this.") -> Problem:
    """403: the caller's role does not allow the request."""
    return Problem(HTTPStatus.FORBIDDEN, "forbidden", detail)


def too_large(detail: str) -> Problem:
    """413: the request is larger than the limits allow."""
    return Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", detail)


def storage_full(detail: str = "The server has no room for this now. Keep it and try again later.") -> Problem:
    """507: the server stored nothing; the client keeps its data and tries again."""
    return Problem(HTTPStatus.INSUFFICIENT_STORAGE, "storage-full", detail, retry_after=60)


def answer(problem: Problem) -> Response:
    """The answer to a problem: JSON under /api, elsewhere a page or a redirect."""
    if request.path.startswith("/api/"):
        response = Response(json.dumps(problem.document()), problem.status, mimetype="application/problem+json")
        if problem.status is HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
    elif (door := DOORS.get(problem.kind)) and not request.path.startswith("/p/"):
        response = _lead(problem, door)
    else:
        response = _page(problem)
    if problem.retry_after is not None:
        response.headers["Retry-After"] = str(problem.retry_after)
    return response


def _lead(problem: Problem, door: str) -> Response:
    """Lead to a page of DOORS, and back. A GET redirects at once; after a POST the error page has a link."""
    if request.method in {"GET", "HEAD"}:
        back = request.full_path if request.query_string else request.path
        return make_response(redirect(f"{door}?{urlencode({'next': back})}", HTTPStatus.SEE_OTHER))
    router = current_app.create_url_adapter(request)
    back = request.path if router and router.test(request.path, "GET") else "/studies"
    return _page(problem, door=f"{door}?{urlencode({'next': back})}")


def _page(problem: Problem, door: str = "") -> Response:
    page = render_template("problem.html", said=problem, title=problem.status.phrase, door=door)
    return Response(page, problem.status, mimetype="text/html")


def of_database(error: DBAPIError) -> Problem:
    """The problem for a database error: 422 for a refused value, 507 for a full disk, otherwise 503."""
    if isinstance(error, DataError):  # such as a text with a NUL in it
        return unprocessable("The database can't hold one of the values.")
    code = getattr(error.orig, "sqlite_errorcode", None)
    state = getattr(error.orig, "sqlstate", None)
    if code is not None and code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return storage_full()
    if state == "53100":  # PostgreSQL's disk_full
        return storage_full()
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE, "database", "The database does not answer. Try again soon.", retry_after=2
    )


def of_fault(error: Exception) -> Problem:
    """The problem for an unexpected error. The log has the error's details, the answer does not."""
    if isinstance(error, DBAPIError):
        problem = of_database(error)
        if not isinstance(error.orig, Exception) or not error.connection_invalidated:
            log.error("database refused", error=type(error.orig).__name__, kind=problem.kind)
        return problem
    if isinstance(error, AwayError):
        log.error("store away", reason=str(error))
        said = "The store of the power traces does not answer. Try again soon."
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store", said, retry_after=2)
    if isinstance(error, NotOwnerError):
        log.error("bucket of another server", reason=str(error))
        said = (
            "Another server owns the power traces, and this one only reads them, so it changed nothing. Tell the staff."
        )
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "store", said, retry_after=60)
    log.error("unexpected error", error=type(error).__name__, exc_info=error)
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", "The server has a fault; its journal has the details.")


def of_input(error: HTTPError) -> Problem:
    """The problem for an error that APIFlask found in a request's query or body."""
    found = error.detail if isinstance(error.detail, dict) else {}
    errors = [
        FieldError(
            _pointer(place, field)[:MOST_TEXT],
            "; ".join(map(str, messages))[:MOST_TEXT],
        )
        for place, fields in found.items()
        if isinstance(fields, dict)
        for field, messages in fields.items()
    ]
    return Problem(HTTPStatus(error.status_code), "invalid", "The request breaks a rule.", errors)


def _pointer(place: str, field: str) -> str:
    if place != "json":
        return f"{place}: {field}"
    return "" if field == "_schema" else "/" + field.replace(".", "/")


def _of_http(error: HTTPException) -> Problem | HTTPException:
    if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
        return error  # a redirect of the router
    status = HTTPStatus(error.code)
    kind = _KINDS.get(status) or status.name.lower().replace("_", "-")
    return Problem(status, kind, _DETAILS.get(status, status.description or status.phrase))


_KINDS = {HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "too-large"}
_DETAILS = {
    HTTPStatus.NOT_FOUND: "It does not exist, or you may not see it.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not take this method.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "This is larger than the server's limit.",
    HTTPStatus.BAD_REQUEST: "The request can't be read.",
}


def handle_problems(app: Flask) -> None:
    """Turn every error of an application into a problem."""

    @app.errorhandler(Problem)
    def _problem(error: Problem) -> Response:
        return answer(error)

    @app.errorhandler(HTTPException)
    def _http(error: HTTPException) -> Response | HTTPException:
        problem = _of_http(error)
        if isinstance(problem, HTTPException):
            return problem
        response = answer(problem)
        if allowed := getattr(error, "valid_methods", None):
            response.headers["Allow"] = ", ".join(sorted(allowed))
        return response

    @app.errorhandler(HTTPError)
    def _input(error: HTTPError) -> Response:
        return answer(of_input(error))

    @app.errorhandler(ParseException)
    @app.errorhandler(NoMoreData)
    def _unreadable(_error: Exception) -> Response:
        return answer(bad_request("The request can't be read."))

    @app.errorhandler(Exception)
    def _unexpected(error: Exception) -> Response:
        return answer(of_fault(error))
