# SPDX-License-Identifier: GPL-2.0-or-later
"""Serves the page and the metrics over HTTP, to this machine only: on loopback, under loopback's names."""

from __future__ import annotations

import html
import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from happe_power.recording.live import clock_text
from happe_power.serving import metrics
from happe_power.trace import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_power.serving.state import State

LOOPBACK = "127.0.0.1"
HERE = Path(__file__).parent
PAGE = Template((HERE / "page.html").read_text(encoding="utf-8"))
FILES = {"/live.css": "text/css; charset=utf-8", "/live.js": "text/javascript; charset=utf-8"}
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SLOWEST_S = 10.0
NOTHING = "\u2013"


class Server(ThreadingHTTPServer):
    """An HTTP server of the recording that `state` returns; port 0 takes a free port."""

    daemon_threads = True

    def __init__(self, port: int, state: Callable[[], State | None]) -> None:
        """Listen. Raises OSError."""
        self.state = state
        super().__init__((LOOPBACK, port), Handler)

    @property
    def hosts(self) -> set[str]:
        """The server's names for a browser on this machine. Another name comes from a foreign website."""
        port = self.server_address[1]
        return {f"{name}:{port}" for name in (LOOPBACK, "localhost")}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server
    timeout = SLOWEST_S

    def do_GET(self) -> None:
        """Answer a request that is addressed to one of this server's names."""
        if self.headers.get("Host", "") not in self.server.hosts:
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"This server is for its own machine alone.\n")
            return
        path = self.path.partition("?")[0]
        try:
            self._route(path)
        except TraceError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", f"{error}\n".encode())

    def _route(self, path: str) -> None:
        if path in FILES:
            self._answer(HTTPStatus.OK, FILES[path], (HERE / path[1:]).read_bytes())
        elif path == "/":
            self._answer(HTTPStatus.OK, "text/html; charset=utf-8", page(self.server.state()))
        elif path == "/live.json":
            said = json.dumps(document(self.server.state())).encode()
            self._answer(HTTPStatus.OK, "application/json", said)
        elif path == "/metrics":
            self._answer(HTTPStatus.OK, metrics.CONTENT_TYPE_LATEST, metrics.written(self.server.state()))
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"There are /, /live.json and /metrics.\n")

    def _answer(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        for name, value in (HEADERS | {"Content-Type": kind, "Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def version_string(self) -> str:
        """Return the name without a version."""
        return "happe-power"

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


def document(state: State | None) -> dict[str, Any]:
    """The document for the page's script: the page's texts, rows of gaps, and the recording itself."""
    rows = (
        [[f"{gap['at_s']:.1f} s", f"{gap['seconds']:.3g} s", str(gap["samples"]), gap["reason"]] for gap in state.gaps]
        if state
        else []
    )
    return {
        "texts": texts(state),
        "gaps": rows,
        "watts": state.figures["watts"] if state and state.runs else None,
        "recording": state.document() if state else None,
    }


def texts(state: State | None) -> dict[str, str]:
    """The page's texts by the ids of their elements."""
    if state is None:
        return dict.fromkeys(("watts", "energy", "rate", "lost", "clock"), NOTHING) | {
            "state": "There is no recording in the spool.",
            "note": "",
        }
    figures, energy_j = state.figures, state.figures.get("energy_j")
    state_said = (
        "recording" if state.runs else f"no recording is in progress; the last one was active {state.age_s:.0f} s ago"
    )
    return {
        "state": f"{state.study}, {state.instrument} ({state.kind}), trace {state.trace}: {state_said}",
        "watts": NOTHING if figures["watts"] is None or not state.runs else f"{figures['watts']:.2f} W",
        "energy": NOTHING if energy_j is None else f"{energy_j / 3600:.3f} Wh",
        "rate": f"{figures['rate_hz']:.5g}/s" if state.runs else NOTHING,
        "lost": f"{figures['lost']} of {figures['lost'] + figures['samples']} samples",
        "clock": clock_text(figures["clock_offset_us"], figures["clock_uncertainty_us"], figures["clock_age_s"]),
        "note": " ".join(filter(None, (figures["trouble"], figures["note"]))),
    }


def page(state: State | None) -> bytes:
    """The page, complete without its script."""
    said = document(state)
    filled = {name: html.escape(text) for name, text in said["texts"].items()}
    cells = ("".join(f"<td>{html.escape(text)}</td>" for text in row) for row in said["gaps"])
    return PAGE.substitute(filled, gaps="".join(f"<tr>{row}</tr>" for row in cells)).encode()
