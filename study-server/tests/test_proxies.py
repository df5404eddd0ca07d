# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx and Caddy before the real server, configured as docs/how-to/run-the-server.md says, with many slow clients."""

import re
import selectors
import socket
import subprocess
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from getpass import getuser
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import pytest

from given_uploads import part_items, record_items, underway
from happe_demo.ports import reserved_port
from patience import PATIENCE_S, until
from server_process import ServerProcess
from slow import BODY, HEADER, Slow
from uploader import Item, Uploader
from world import World

pytestmark = pytest.mark.long

DOCUMENT = Path(__file__).parents[2] / "docs/how-to/run-the-server.md"
NAME = "study.example.org"
LINK = "/p/a-participants-own"
MANY = 200
FEW = 20
MIB = 1 << 20
PART_BYTES = 32 * MIB
LIMITS = {
    "/api/v1/traces/6e6f-t/parts/1": 64,
    "/api/v1/traces/6e6f-t/seal": 8,
    "/api/v1/runs/ABCDEFGH/record/6e6f-t": 8,
    "/studies/crossover/report/measures": 33,
    "/sign-in": 1,
}  # MiB of a body, by path


def documented(proxy: str, places: dict[str, str]) -> str:
    """The document's configuration of a proxy, with this test's places."""
    _before, _heading, after = DOCUMENT.read_text().partition(f"\n{proxy}:\n\n")
    block = re.match(r"(?: {4}.*\n|\n)+", after)
    assert block
    text = textwrap.dedent(block[0])
    for place, here in places.items():
        assert place in text
        text = text.replace(place, here)
    return text


def nginx(folder: Path, port: int, server: int) -> list[str | Path]:
    """The command that runs nginx without TLS, as this user, with its files in the folder."""
    places = {
        "listen 443 ssl": f"listen 127.0.0.1:{port}",
        "    ssl_certificate     /etc/letsencrypt/live/study.example.org/fullchain.pem;\n": "",
        "    ssl_certificate_key /etc/letsencrypt/live/study.example.org/privkey.pem;\n": "",
        "/var/log/nginx/error.log": str(folder / "nginx.log"),
        "127.0.0.1:8080": f"127.0.0.1:{server}",
    }
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    file = folder / "nginx.conf"
    file.write_text(
        f"user {getuser()};\npid {folder}/pid;\nevents {{}}\nhttp {{\n{paths}{documented('nginx', places)}}}\n"
    )
    return ["nginx", "-c", file, "-e", folder / "nginx.log", "-g", "daemon off;"]


def caddy(folder: Path, port: int, server: int) -> list[str | Path]:
    """The command that runs Caddy without TLS, because nobody here gives it a certificate."""
    places = {
        f"{NAME} {{": f"http://{NAME}:{port} {{\n    bind 127.0.0.1",
        "log default": "admin off\n    log default",
        "127.0.0.1:8080": f"127.0.0.1:{server}",
    }
    file = folder / "Caddyfile"
    file.write_text(documented("Caddy", places))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", file]


PROXIES = {"nginx": nginx, "Caddy": caddy}


class Answer(NamedTuple):
    """An answer's status (0: none came), and whether the server gave it, not the proxy."""

    status: int
    by_server: bool


TOO_LARGE, GATEWAY = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.BAD_GATEWAY
REFUSED = {
    "nginx": (Answer(TOO_LARGE, by_server=False), Answer(0, by_server=False)),
    "Caddy": (Answer(TOO_LARGE, by_server=True), Answer(GATEWAY, by_server=False)),
}


def ask(port: int, method: str, path: str, body: bytes | None = None) -> Answer:
    """Send a request to the name that the proxy serves."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        try:
            connection.request(method, path, body, {"Host": NAME, "Content-Type": "application/octet-stream"})
            answer = connection.getresponse()
        except OSError:
            return Answer(0, by_server=False)
        return Answer(answer.status, by_server="Content-Security-Policy" in answer.headers)


def named(item: Item) -> Item:
    """An upload to the name that the proxy serves."""

    def make() -> tuple[dict[str, str], bytes | list[bytes]]:
        headers, body = item.make()
        return {"Host": NAME, **headers}, body

    return type(item)(item.path, make)


def ended(connections: list[socket.socket]) -> int:
    """The number of connections that somebody has answered or closed."""
    with selectors.DefaultSelector() as selector:
        for each in connections:
            selector.register(each, selectors.EVENT_READ)
        return len(selector.select(0))


@contextmanager
def behind(proxy: str, folder: Path, server: int) -> Iterator[tuple[int, Path]]:
    """A proxy before the server with this port: the proxy's port, and its log."""
    port, log = reserved_port(), folder / "proxy.log"
    command = PROXIES[proxy](folder, port, server)
    with log.open("wb") as said, subprocess.Popen(command, stdout=said, stderr=said) as process:
        try:
            until(lambda: process.poll() is not None or ask(port, "GET", "/healthz").by_server, "the proxy")
            assert process.poll() is None, log.read_text()
            yield port, log
        finally:
            process.terminate()


@pytest.mark.parametrize("proxy", PROXIES)
def test_slow_clients_of_a_proxy_keep_nobody_waiting(proxy: str, sqlite_url: str, tmp_path: Path) -> None:
    # given a server with two threads
    data, folder = tmp_path / "data", tmp_path / "proxy"
    data.mkdir()
    folder.mkdir()
    world = World(data, sqlite_url)
    given = underway(world, applications=2, participants=1)
    world.close()
    server = ServerProcess(data, sqlite_url, workers=1, threads=2, limits={"free_bytes": 0}, trusted_proxies=1)
    server.start()
    with behind(proxy, folder, server.port) as (port, log), Slow(port) as slow:
        laptop, meter = (Uploader(port, each.token, threading.Event()) for each in (given.laptop, given.meter))
        parts = map(named, part_items(given.trace, 0, 1))
        lengths = {**next(parts).make()[0], "Authorization": f"Bearer {given.meter.token}"}
        headers = "".join(f"{name}: {value}\r\n" for name, value in lengths.items() if name != "Content-Length")
        large = f"PUT /api/v1/traces/{given.trace}/parts/0 HTTP/1.1\r\n{headers}Content-Length: {PART_BYTES}\r\n\r\n"
        # when
        slow.open(MANY, HEADER.replace("Host: x", f"Host: {NAME}"))
        slow.open(MANY, BODY.replace("Host: x", f"Host: {NAME}"))
        slow.open(FEW, large)
        # then
        for record, part, _round in zip(map(named, record_items(given.runs)), parts, range(3), strict=False):
            slow.trickle()
            assert ask(port, "GET", "/sign-in") == (HTTPStatus.OK, True)
            assert laptop.send(record) == HTTPStatus.CREATED
            assert meter.send(part) == HTTPStatus.CREATED
        assert ended(slow.every) == 0
        laptop.close()
        meter.close()
        # and a body that is too large for its route is refused; Caddy cuts it off, and then fails or the server refuses
        for path, most in LIMITS.items():
            method = "POST" if path.startswith("/s") else "PUT"
            assert ask(port, method, path, bytes(most * MIB)).by_server, path
            assert ask(port, method, path, bytes(most * MIB + 1)) in REFUSED[proxy], path
        # and no log has a participant's link
        assert ask(port, "GET", LINK) == (HTTPStatus.NOT_FOUND, True)
        server.stop()
        assert ask(port, "GET", LINK) == (GATEWAY, False)
        assert LINK not in log.read_text()
