# SPDX-License-Identifier: GPL-2.0-or-later
"""A small study server over real HTTP that follows docs/uploads.md, unless a test makes it answer otherwise."""

import base64
import hashlib
import json
import re
import socket
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

TOKEN = "meter-token"  # noqa: S105 - no real token
LAPTOP = "1APT0PAA"
OFFSET_US = 3_000_000  # the fake's clock minus CLOCK_MONOTONIC


@dataclass
class Said:
    """An answer: status, body, headers. Without a status the fake closes the connection."""

    status: int | None
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Stored:
    """A trace that the fake has."""

    header: bytes
    parts: dict[int, bytes] = field(default_factory=dict)
    seal: bytes | None = None


class FakeStudyServer:
    """The traces, clocks and requests that arrived. `script` has answers for matching requests, to use once each."""

    def __init__(self) -> None:
        """Listen on a free port of loopback."""
        self.traces: dict[str, Stored] = {}
        self.clocks: dict[str, bytes] = {}
        self.heartbeats: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.authorizations: list[str | None] = []
        self.script: deque[tuple[str, Said]] = deque()
        fake = self

        class Handler(_Handler):
            server_of = fake

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})

    def __enter__(self) -> Self:
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Answer no more."""
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def answers(self, request: str, *said: Said) -> None:
        """Answer the next requests whose line matches a pattern like this."""
        self.script.extend((request, each) for each in said)

    def count(self, request: str) -> int:
        """Return how many requests matched this pattern."""
        return sum(bool(re.search(request, line)) for line in self.requests)

    def scripted(self, line: str) -> Said | None:
        """Return what the test scripted for this request, if anything."""
        for entry in self.script:
            if re.search(entry[0], line):
                self.script.remove(entry)
                return entry[1]
        return None


class _Handler(BaseHTTPRequestHandler):
    server_of: FakeStudyServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each answer takes 40 ms
    wbufsize = -1

    def log_message(self, *_arguments: object) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        self._handle()

    do_PUT = do_POST = do_GET  # noqa: N815 - http.server's names

    def _handle(self) -> None:
        fake, line = self.server_of, f"{self.command} {self.path}"
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        fake.requests.append(line)
        fake.authorizations.append(self.headers.get("Authorization"))
        said = fake.scripted(line) or self._answer(body)
        if said.status is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(said.status)
        for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said.body)

    def _answer(self, body: bytes) -> Said:
        if self.path == "/api/v1/devices/enrol":
            facts = {"device": "M3TERAAA", "study": "paper-a3", "kind": "meter", "token": TOKEN}
            return _json(201, facts) if json.loads(body) == {"code": "GOOD-CODE"} else problem(403, "unknown code")
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return problem(401, "who are you")
        if self.path in ("/api/v1/clock", "/api/v1/device/laptops"):
            now = time.monotonic_ns() // 1000 + OFFSET_US
            return _json(200, {"laptops": [LAPTOP]} if "laptops" in self.path else {"receive_us": now, "send_us": now})
        if self.path == "/api/v1/device/heartbeat":
            self.server_of.heartbeats.append(json.loads(body))
            return Said(204, b"")
        if found := re.fullmatch(r"/api/v1/device/clocks/([0-9a-f-]{36})", self.path):
            return self._clock(found[1], body)
        found = re.fullmatch(r"/api/v1/traces/([0-9a-f-]{36})(?:/(seal|parts/(\d+)|missing\?count=(\d+)))?", self.path)
        assert found, self.path
        return self._trace(found, body)

    def _clock(self, name: str, body: bytes) -> Said:
        known = self.server_of.clocks.setdefault(name, body)
        return _json(201, {"offset_us": 0, "uncertainty_us": 1}) if known == body else problem(409, "other probes")

    def _trace(self, found: re.Match[str], body: bytes) -> Said:
        name, what, number, count = found.groups()
        traces = self.server_of.traces
        if what is None:
            new = name not in traces
            stored = traces.setdefault(name, Stored(body))
            return _trace_json(name, stored, 201 if new else 200) if stored.header == body else problem(409, "other")
        if name not in traces:
            return problem(404, "no such trace")
        stored = traces[name]
        if count is not None:
            return _json(200, {"missing": [n for n in range(int(count)) if n not in stored.parts]})
        return self._part(name, stored, int(number), body) if number is not None else _seal(name, stored, body)

    def _part(self, name: str, stored: Stored, number: int, body: bytes) -> Said:
        assert self.headers["If-None-Match"] == "*"
        sha256 = hashlib.sha256(body)
        assert self.headers["Content-Digest"] == f"sha-256=:{base64.b64encode(sha256.digest()).decode()}:"
        new = number not in stored.parts
        if stored.parts.setdefault(number, body) != body:
            return problem(409, "other bytes")
        return _json(201 if new else 200, {"trace": name, "number": number, "sha256": sha256.hexdigest()})


def _seal(name: str, stored: Stored, body: bytes) -> Said:
    listed = {each["number"]: each["sha256"] for each in json.loads(body)["parts"]}
    here = {number: hashlib.sha256(part).hexdigest() for number, part in stored.parts.items()}
    if listed != here:
        lists = {
            "missing": sorted(set(listed) - set(here)),
            "mismatched": sorted(n for n in set(listed) & set(here) if listed[n] != here[n]),
            "unexpected": sorted(set(here) - set(listed)),
        }
        return _json(409, {"detail": "not whole", **lists})
    if stored.seal not in (None, body):
        return problem(409, "sealed with another manifest")
    stored.seal = body
    return _trace_json(name, stored, 200)


def _trace_json(name: str, stored: Stored, status: int) -> Said:
    return _json(status, {"trace": name, "sealed": stored.seal is not None, "received": len(stored.parts)})


def _json(status: int, document: dict[str, Any]) -> Said:
    return Said(status, json.dumps(document).encode(), {"Content-Type": "application/json"})


def problem(status: int, detail: str, **headers: str) -> Said:
    """A problem document (RFC 9457)."""
    body = json.dumps({"title": "problem", "detail": detail, "status": status}).encode()
    return Said(status, body, {"Content-Type": "application/problem+json", **headers})
