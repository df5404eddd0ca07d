# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting and logging every request by its route's pattern, because paths contain codes, and links tokens."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import structlog
from flask import Flask, Response, g, request
from werkzeug.wsgi import ClosingIterator

from happe_study.web.metrics import Metrics

Written = Callable[[bytes], object]
Raised = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]

log = structlog.get_logger(__name__)

SEEN = "happe.seen"
NO_ROUTE = "none"
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
QUIET = frozenset({"/healthz"})
# The server does not count the duration of these endpoints. The duration of an upload shows its size, and the size can
# reveal a condition.
UNTIMED = frozenset({"device_runs.put_record", "traces.put_part"})


@dataclass
class Seen:
    """The facts that the server logs about a request after its answer."""

    method: str
    started: float
    route: str = NO_ROUTE
    status: int = 0
    timed: bool = True
    caller: str = "anybody"
    address: str | None = None


def install(app: Flask, metrics: Metrics, *, addresses: bool) -> None:
    """Watch an application's requests. `addresses`: log where they come from."""

    @app.before_request
    def _know_route() -> None:
        seen: Seen = request.environ[SEEN]
        seen.route = request.url_rule.rule if request.url_rule else NO_ROUTE
        seen.timed = request.endpoint not in UNTIMED
        seen.address = request.remote_addr if addresses else None

    @app.after_request
    def _know_caller(response: Response) -> Response:
        who = g.get("happe_caller")
        if who is not None:
            request.environ[SEEN].caller = str(who.who)
        return response

    app.before_request_funcs[None].insert(
        0, app.before_request_funcs[None].pop()
    )  # first, because others may refuse the request
    app.wsgi_app = Watch(app.wsgi_app, metrics)  # type: ignore[method-assign] # WSGI's way


class Watch:
    """WSGI middleware that counts and logs requests."""

    def __init__(self, application: WSGIApplication, metrics: Metrics) -> None:
        """Watch an application."""
        self._application = application
        self._metrics = metrics

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request. Count and log it after the last byte."""
        method = environ["REQUEST_METHOD"]
        seen = environ[SEEN] = Seen(method if method in METHODS else "other", time.perf_counter())

        def start(status: str, headers: list[tuple[str, str]], error: Raised | None = None, /) -> Written:
            seen.status = int(status[:3])
            return start_response(status, headers, error)

        return ClosingIterator(self._application(environ, start), lambda: self._note(seen))

    def _note(self, seen: Seen) -> None:
        seconds = time.perf_counter() - seen.started if seen.timed else None
        self._metrics.answered(seen.method, seen.route, seen.status, seconds)
        took = {} if seconds is None else {"ms": round(seconds * 1000)}
        address = {"address": seen.address} if seen.address else {}
        level = log.debug if seen.route in QUIET else log.info
        fields = {"method": seen.method, "route": seen.route, "status": seen.status, "caller": seen.caller}
        level("request", **fields, **took, **address)
