# SPDX-License-Identifier: GPL-2.0-or-later
"""A gunicorn worker that gives a request to a thread only when the whole request has arrived.

In gunicorn's own worker, a thread reads the request that it answers. So a few clients who send a byte a second can
occupy all threads. Here the worker's loop, which waits for all connections at once, gathers each request in memory.

A body above MOST_GATHERED is too large for that. The thread reads it from the connection, but the application first
checks who calls: it refuses everybody except devices and staff without reading. Such requests take at most half of the
threads.

Everything runs in the loop's thread, except what a thread of the pool calls, such as `_keepalive_after`.
"""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from selectors import EVENT_READ
from typing import Any

from gunicorn.http import get_parser
from gunicorn.http.body import LengthReader
from gunicorn.workers.gthread import TConn, ThreadWorker

MOST_HEAD = 64 << 10  # bytes
MOST_GATHERED = 1 << 20  # bytes of a body
MOST_WAITING = 600  # connections of a worker with incomplete requests
MOST_HELD = 32 << 20  # bytes of these requests
MOST_LINGERING = 64  # connections
LINGER_SECONDS = 2.0
CLIENT_SECONDS = 60  # a thread does not wait longer for a client to send or take some bytes
PIECE = 64 << 10
END_OF_HEAD = b"\r\n\r\n"
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
GONE = (errno.EAGAIN, errno.ECONNABORTED)


@dataclass
class Gathered:
    """The bytes of a request that have arrived. `whole` is the request's length, known once its head is complete."""

    data: bytearray = field(default_factory=bytearray)
    whole: int | None = None
    asked: bool = False  # whether the worker asked for the body by 100 Continue

    @property
    def ready(self) -> bool:
        """Whether a thread can take it: it is complete, too large to gather, or its head is too long."""
        if self.whole is None:
            return len(self.data) > MOST_HEAD
        return len(self.data) >= self.whole or self.large

    @property
    def large(self) -> bool:
        """Whether the request's body is too large to gather."""
        return self.whole is not None and self.whole > MOST_HEAD + MOST_GATHERED


class Connection(TConn):  # type: ignore[misc] # gunicorn has no types
    """A connection with a client. Its worker closes it properly, without blocking on the client."""

    def __init__(self, worker: GatheringWorker, client: socket.socket, address: Any, listener: socket.socket) -> None:  # noqa: ANN401 - the system's
        """Wrap a new connection."""
        super().__init__(worker.cfg, client, address, listener.getsockname())
        self._worker = worker
        self.initialized = True  # it has neither TLS nor HTTP/2
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            client.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", CLIENT_SECONDS, 0))

    def close(self, graceful: bool = False) -> None:  # noqa: FBT001, FBT002 - gunicorn's
        """Close the connection; `graceful`: let the client read the answer first."""
        if graceful:
            self._worker.linger(self)
        else:
            self.sock.close()


class GatheringWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's threaded worker, which gathers requests before threads get them."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Start without connections."""
        super().__init__(*arguments, **named)
        self._waiting: dict[Connection, Gathered] = {}  # the longest wait first, as in `_lingering`
        self._held = 0  # bytes of all waiting requests
        self._lingering: dict[Connection, float] = {}
        self._large: set[Connection] = set()  # large requests that a thread answers
        self._queue: deque[Connection] = deque()  # large requests that wait for one of these to end
        self._most_large = max(1, self.cfg.threads // 2)

    def accept(self, listener: socket.socket) -> None:
        """Take a new connection."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno not in GONE:
                raise
            return
        self.nr_conns += 1
        self.enqueue_req(Connection(self, client, address, listener))

    def enqueue_req(self, conn: Connection) -> None:
        """Gather a connection's next request."""
        left = conn.parser.unreader.take_buffered() if conn.parser else b""
        gathered = self._waiting[conn] = Gathered()
        conn.sock.settimeout(0)
        self.poller.register(conn.sock, EVENT_READ, partial(self._read, conn))
        self._take(conn, gathered, left)
        self._make_room()

    def _read(self, conn: Connection, _socket: socket.socket) -> None:
        gathered = self._waiting.get(conn)
        if gathered is None:
            return  # `_make_room` dropped it in this round of the loop
        try:
            piece = conn.sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if piece:
            self._take(conn, gathered, piece)
            self._make_room()
        elif gathered.data:
            self._hand_over(conn, gathered)  # the thread answers that the request is incomplete
        else:
            self._drop(conn)

    def _take(self, conn: Connection, gathered: Gathered, piece: bytes) -> None:
        searched = max(0, len(gathered.data) - len(END_OF_HEAD) + 1)
        gathered.data += piece
        self._held += len(piece)
        if gathered.whole is None and (end := gathered.data.find(END_OF_HEAD, searched)) >= 0:
            self._read_head(conn, gathered, end + len(END_OF_HEAD))
        if gathered.ready:
            self._hand_over(conn, gathered)

    def _read_head(self, conn: Connection, gathered: Gathered, end: int) -> None:
        gathered.whole = end
        try:
            request = next(get_parser(self.cfg, [bytes(gathered.data[:end])], conn.client))
        except Exception:  # noqa: BLE001 - the thread reads the same bytes, meets the same error, and answers
            return
        if isinstance(request.body.reader, LengthReader):
            gathered.whole = end + request.body.reader.length
        if request._expected_100_continue and not gathered.ready:  # noqa: SLF001 - gunicorn asks too late: in the thread
            with suppress(OSError):
                conn.sock.send(GO_ON)

    def _hand_over(self, conn: Connection, gathered: Gathered) -> None:
        self._forget(conn)
        data = bytes(gathered.data)
        if not gathered.large:
            conn.parser = get_parser(self.cfg, [data], conn.client)  # so that the thread never reads the connection
            super().enqueue_req(conn)
            return
        conn.parser = get_parser(self.cfg, conn.sock, conn.client)
        conn.parser.unreader.unread(data)
        self._queue.append(conn)
        self._begin_large()

    def _begin_large(self) -> None:
        while self._queue and len(self._large) < self._most_large:
            conn = self._queue.popleft()
            self._large.add(conn)
            super().enqueue_req(conn)

    def finish_request(self, conn: Connection, fs: Any) -> None:  # noqa: ANN401 - gunicorn's
        """Go on with a connection after the answer to its request, and start the next large request."""
        self._large.discard(conn)
        super().finish_request(conn, fs)
        self._begin_large()

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:  # noqa: FBT001 - gunicorn's
        """Whether to keep the connection: not if the rest of an unread body may still arrive."""
        reader = conn.parser.mesg.body.reader
        may_come = not isinstance(reader, LengthReader) or (conn in self._large and reader.length > 0)
        return not may_come and super()._keepalive_after(conn, keepalive)

    def _make_room(self) -> None:
        while len(self._waiting) > MOST_WAITING or self._held > MOST_HELD:
            self._drop(next(iter(self._waiting)))

    def _forget(self, conn: Connection) -> None:
        self._held -= len(self._waiting.pop(conn).data)
        self.poller.unregister(conn.sock)

    def _drop(self, conn: Connection) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        conn.close()

    def linger(self, conn: Connection) -> None:
        """Close a connection after its client has. Otherwise a client that is still sending would lose the answer."""
        try:
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            conn.close()
            return
        conn.sock.settimeout(0)
        self._lingering[conn] = time.monotonic() + LINGER_SECONDS
        self.poller.register(conn.sock, EVENT_READ, partial(self._discard, conn))
        if len(self._lingering) > MOST_LINGERING:
            self._end(next(iter(self._lingering)))

    def _discard(self, conn: Connection, _socket: socket.socket) -> None:
        if conn not in self._lingering:
            return
        try:
            piece = conn.sock.recv(PIECE)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._end(conn)

    def _end(self, conn: Connection) -> None:
        del self._lingering[conn]
        self.poller.unregister(conn.sock)
        conn.close()

    def murder_pending(self) -> None:
        """Close connections that have lingered too long. gunicorn calls this in each round of the loop."""
        super().murder_pending()
        now = time.monotonic()
        for conn in [each for each, until in self._lingering.items() if until <= now]:
            self._end(conn)
        if not self.alive:
            for conn in [each for each, gathered in self._waiting.items() if not gathered.data]:
                self._drop(conn)
