# SPDX-License-Identifier: GPL-2.0-or-later
"""Requests that need a real socket: they are no HTTP, or two programs could read them differently.

The server is the real one, gunicorn with two workers. After each of these requests it still answers others, and has
changed nothing.
"""

import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from given_studies import small, study
from happe_study.model.devices import Device
from happe_study.model.rules import DeviceKind
from happe_study.study.people import devices
from patience import PATIENCE_S
from server_process import ServerProcess
from world import World, sqlite_copy

BEAT = "PUT /api/v1/device/heartbeat HTTP/1.1\r\nHost: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
JSON = "Content-Type: application/json\r\n"
BODY = '{"state":"idle","software":{},"free_gib":1,"spool":0}'
SMUGGLED = "PUT /api/v1/device/sitting HTTP/1.1\r\nHost: localhost\r\n\r\n"
STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
# gunicorn closes these connections without an answer.
MAY_HANG_UP = {"header that never ends", "line that never ends", "TLS"}
LEAKED = (b"Traceback", b"site-packages", b".py", b"gunicorn/")

# Requests, and the possible statuses of the answers.
CASES: dict[str, tuple[str, set[int]]] = {
    "two lengths": (f"{BEAT}{JSON}Content-Length: 5\r\nContent-Length: 53\r\n\r\n{BODY}", {400}),
    "two lengths in one": (f"{BEAT}{JSON}Content-Length: 5, 53\r\n\r\n{BODY}", {400}),
    "negative length": (f"{BEAT}{JSON}Content-Length: -1\r\n\r\n{BODY}", {400}),
    "length with a sign": (f"{BEAT}{JSON}Content-Length: +53\r\n\r\n{BODY}", {400}),
    "length in hexadecimal": (f"{BEAT}{JSON}Content-Length: 0x35\r\n\r\n{BODY}", {400}),
    "length in words": (f"{BEAT}{JSON}Content-Length: many\r\n\r\n{BODY}", {400}),
    "length in Arabic digits": (f"{BEAT}{JSON}Content-Length: \u0665\u0663\r\n\r\n{BODY}", {400}),
    "length of an exabyte": (f"{BEAT}{JSON}Content-Length: 1000000000000000000\r\n\r\n{BODY}", {413}),
    "length of 5000 digits": (f"{BEAT}{JSON}Content-Length: {'9' * 5000}\r\n\r\n{BODY}", {400, 413}),
    "length and chunks": (
        f"{BEAT}{JSON}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{SMUGGLED}",
        {400},
    ),
    "chunks and length": (
        f"{BEAT}{JSON}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n{SMUGGLED}",
        {400},
    ),
    "unknown transfer coding": (f"{BEAT}{JSON}Transfer-Encoding: xchunked\r\n\r\n{BODY}", {400, 501}),
    "chunked, not last": (f"{BEAT}{JSON}Transfer-Encoding: chunked, gzip\r\n\r\n{BODY}", {400, 501}),
    "chunked twice": (f"{BEAT}{JSON}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    "chunked behind a control": (f"{BEAT}{JSON}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{SMUGGLED}", {400, 501}),
    "chunks": (f"{BEAT}{JSON}Transfer-Encoding: chunked\r\n\r\n35\r\n{BODY}\r\n0\r\n\r\n", {411}),
    # The server refuses the request for its chunks, and then what follows on the connection.
    "chunk of no size": (f"{BEAT}{JSON}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{BODY}\r\n0\r\n\r\n", {400, 411}),
    "chunk of negative size": (f"{BEAT}{JSON}Transfer-Encoding: chunked\r\n\r\n-5\r\n{BODY}\r\n0\r\n\r\n", {400, 411}),
    "chunk that is cut off": (f"{BEAT}{JSON}Transfer-Encoding: chunked\r\n\r\nffff\r\n{BODY}", {411}),
    "body that is cut off": (f"{BEAT}{JSON}Content-Length: 500\r\n\r\n{BODY}", {400}),
    "no body after Expect": (f"{BEAT}{JSON}Content-Length: 53\r\nExpect: 100-continue\r\n\r\n", {100, 400}),
    "unknown expectation": (f"{BEAT}{JSON}Content-Length: 53\r\nExpect: miracles\r\n\r\n{BODY}", {400, 417}),
    "header without a colon": (f"{BEAT}nonsense\r\n\r\n", {400}),
    "space before the colon": (f"{BEAT}Content-Length : 5\r\n\r\n", {400}),
    "header without a name": (f"{BEAT}: x\r\n\r\n", {400}),
    "folded header": (f"{BEAT}X-A: a\r\n b\r\n\r\n", {400}),
    "NUL in a header": (f"{BEAT}X-A: a\0b\r\n\r\n", {400}),
    "bare CR in a header": (f"{BEAT}X-A: a\rAuthorization: Bearer x\r\n\r\n", {400}),
    "NUL in a name": (f"{BEAT}X\0A: a\r\n\r\n", {400}),
    "65 headers": (BEAT + "".join(f"X-{n}: 1\r\n" for n in range(65)) + "\r\n", {400, 431}),
    "header of 9 kB": (f"{BEAT}X-A: {'a' * 9000}\r\n\r\n", {400, 431}),
    "header that never ends": (f"{BEAT}X-A: {'a' * 200_000}", {400, 431}),
    "line of 5 kB": (f"GET /{'a' * 5000} HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 414}),
    "line that never ends": ("GET /" + "a" * 200_000, {400, 414}),
    "no version": ("GET /healthz\r\n\r\n", {400}),
    "HTTP/0.9": ("GET /healthz HTTP/0.9\r\n\r\n", {400, 505}),
    "HTTP/9.9": ("GET /healthz HTTP/9.9\r\n\r\n", {400, 505}),
    "HTTP/2's preface": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400, 505}),
    "TLS": ("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "\0" * 64, {400}),
    "SSH": ("SSH-2.0-OpenSSH_9.2\r\n", {400}),
    "method in small letters": ("get /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 405, 501}),
    "method of no letters": ("G(T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "method of 100 letters": (f"{'A' * 100} /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "tabs between": ("GET\t/healthz\tHTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "a path with a newline": ("GET /healthz\nX: y HTTP/1.1\r\nHost: localhost\r\n\r\n", {400}),
    "a path with raw NUL": ("GET /api/v1/studies/\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 404, 401}),
    "another host's address": ("GET http://evil.example.org/api/v1/me HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 401}),
    "CONNECT": ("CONNECT evil.example.org:443 HTTP/1.1\r\nHost: localhost\r\n\r\n", {400, 404, 405}),
    "OPTIONS of everything": ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", {200, 400, 404, 405}),
    "underscores for hyphens": (f"{BEAT}X_CSRFToken: a\r\nContent_Length: 5\r\n\r\n", {400, 401, 415}),
    "environment by a header": (
        f"{BEAT}REMOTE_ADDR: 127.0.0.1\r\nHTTP_AUTHORIZATION: Bearer x\r\n\r\n",
        {400, 401, 415},
    ),
    "proxy protocol": ("PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET /api/v1/me HTTP/1.1\r\nHost: a\r\n\r\n", {400}),
    "nothing but newlines": ("\r\n" * 1000, {400}),
}


class Running:
    """A running server with one meter."""

    def __init__(self, folder: Path, url: str) -> None:
        self.world = World(folder, url)
        made = study(self.world, protocol=small())
        with self.world.database.writing() as session:
            row, code = devices.create(session, made.id, "meter", DeviceKind.METER, None)
            _row, self.token = devices.enrol(session, code, None)
            self.device_id = row.id
        self.process = ServerProcess(folder, url)
        self.process.start()

    def send(self, request: bytes) -> bytes:
        """Send bytes, end the sending side, and read the whole answer."""
        with socket.create_connection(("127.0.0.1", self.process.port), timeout=PATIENCE_S) as connection:
            answered = b""
            with suppress(ConnectionError):  # the server may close the connection early
                connection.sendall(request)
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answered += piece
            return answered

    def heartbeat(self) -> int | None:
        """The time of the device's last heartbeat."""
        with self.world.database.reading() as session:
            at_us: int | None = session.get_one(Device, self.device_id).heartbeat_us
            return at_us


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Running]:
    """The real server, on SQLite."""
    folder = tmp_path_factory.mktemp("bytes")
    made = Running(folder, sqlite_copy(sqlite_template, folder))
    yield made
    made.process.stop()
    made.world.close()


def test_bytes_that_are_no_good_request_do_no_harm(running: Running, subtests: pytest.Subtests) -> None:
    for about, (text, expected) in CASES.items():
        with subtests.test(about):
            request = (
                text.replace("\r\n\r\n", f"\r\nAuthorization: Bearer {running.token}\r\n\r\n", 1)
                if BEAT in text
                else text
            )
            before = running.heartbeat()
            answered = running.send(request.encode("utf-8"))
            statuses = [int(status) for status in STATUS.findall(answered)]
            assert set(statuses) <= expected, answered
            assert statuses or about in MAY_HANG_UP, answered
            assert not [word for word in LEAKED if word in answered]
            assert running.heartbeat() == before
            assert STATUS.match(running.send(HEALTH)), "it answers no more"


def test_the_same_request_in_order_is_taken(running: Running) -> None:
    head = f"{BEAT}{JSON}Content-Length: {len(BODY)}\r\nAuthorization: Bearer {running.token}\r\n"
    answered = running.send(f"{head}Connection: close\r\n\r\n{BODY}".encode())
    assert answered.startswith(b"HTTP/1.1 204 ")
    assert running.heartbeat() is not None
