# SPDX-License-Identifier: GPL-2.0-or-later
"""Carries connections over one serial line. The guest has no network, and so reaches one port of the host.

A message is the connection's number and a length, 4 bytes each, big-endian, then the bytes. A message without bytes
means that its sender sends no more. The side that listens numbers the connections.

usage: relay.py LINE PORT       in the guest: connects clients of PORT on its loopback to the port that the host chose
"""

from __future__ import annotations

import itertools
import socket
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = struct.Struct(">II")
MOST = 1 << 16
LOOPBACK = "127.0.0.1"


class Line(Protocol):
    """The serial line: a raw file, or a socket's."""

    def read(self, size: int, /) -> bytes | None:
        """Read at most this number of bytes; none at the end."""

    def write(self, data: bytes, /) -> int | None:
        """Write the bytes. Return how many it has written."""


class Relay:
    """One side of the relay. `dial`, if given, makes the connection for a new number from the other side."""

    def __init__(self, line: Line, dial: Callable[[], socket.socket] | None = None) -> None:
        """Make a relay that does not run yet."""
        self._line = line
        self._dial = dial
        self._writing = threading.Lock()
        self._keeping = threading.Lock()  # not the lock of writing: the reader must not wait while the line is full
        self._open: dict[int, socket.socket] = {}
        self._half: set[int] = set()  # connections with one side that sends no more

    def run(self) -> None:
        """Hand on messages until the line ends. Then end every connection."""
        try:
            while head := self._exactly(HEAD.size):
                number, length = HEAD.unpack(head)
                data = self._exactly(length)
                if number not in self._open and self._dial:
                    self.add(number, self._dial())
                self._hand_on(number, data)
        finally:
            self._end()

    def add(self, number: int, connection: socket.socket) -> None:
        """Carry a connection."""
        with self._keeping:
            self._open[number] = connection
        threading.Thread(target=self._carry, args=(number, connection), daemon=True).start()

    def _carry(self, number: int, connection: socket.socket) -> None:
        data = b" "
        while data:
            try:
                data = connection.recv(MOST)
            except OSError:
                data = b""
            with suppress(OSError):  # the line has ended; `run` notices it
                self._send(number, data)
        self._ended(number)

    def _send(self, number: int, data: bytes) -> None:
        message = HEAD.pack(number, len(data)) + data
        with self._writing:
            while message:
                message = message[self._line.write(message) or 0 :]

    def _hand_on(self, number: int, data: bytes) -> None:
        connection = self._open.get(number)
        with suppress(OSError):  # a client that has left needs no answer
            if connection and data:
                connection.sendall(data)
            elif connection:
                connection.shutdown(socket.SHUT_WR)
        if not data:
            self._ended(number)

    def _ended(self, number: int) -> None:
        """Note that one side sends no more. When neither side sends, the connection is over."""
        with self._keeping:
            if number not in self._open:
                return
            if number in self._half:
                self._half.remove(number)
                self._open.pop(number).close()
            else:
                self._half.add(number)

    def _end(self) -> None:
        with self._keeping:
            for connection in self._open.values():
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # this wakes the thread that waits for it
                connection.close()
            self._open.clear()

    def _exactly(self, size: int) -> bytes:
        """Read this number of bytes; fewer at the line's end."""
        data = b""
        while len(data) < size and (more := self._line.read(size - len(data))):
            data += more
        return data


def listen(line: Line, listener: socket.socket) -> None:
    """Carry the connections to `listener` to the other side, until this program ends."""
    relay = Relay(line)
    threading.Thread(target=relay.run, daemon=True).start()
    for number in itertools.count(1):
        connection, _ = listener.accept()
        relay.add(number, connection)


if __name__ == "__main__":
    with Path(sys.argv[1]).open("r+b", buffering=0) as opened:
        listen(opened, socket.create_server((LOOPBACK, int(sys.argv[2]))))
