# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that send slowly, or never finish."""

import resource
import socket
from typing import Self

from patience import PATIENCE_S

HEADER = "GET /sign-in HTTP/1.1\r\nHost: x\r\nX-Slow: "
FORM = "POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: "
FILES = 8192
BODY = f"{FORM}5000\r\n\r\n"


class Slow:
    """Connections that send single bytes."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.every: list[socket.socket] = []
        self._files = resource.getrlimit(resource.RLIMIT_NOFILE)

    def open(self, count: int, request: str) -> list[socket.socket]:
        """Begin this number of requests."""
        opened = [socket.create_connection(("127.0.0.1", self._port), PATIENCE_S) for _ in range(count)]
        for each in opened:
            each.sendall(request.encode())
        self.every += opened
        return opened

    def trickle(self) -> None:
        """Send one more byte of each request that the server has not closed."""
        for each in self.every:
            try:
                each.sendall(b"a")
            except (BrokenPipeError, ConnectionResetError):
                continue

    def __enter__(self) -> Self:
        # A shell allows 1024 open files, which limit the server, too.
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, self._files[1]), self._files[1]))
        return self

    def __exit__(self, *_error: object) -> None:
        for each in self.every:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, self._files)
