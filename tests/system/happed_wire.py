# SPDX-License-Identifier: GPL-2.0-or-later
"""A D-Bus peer: https://dbus.freedesktop.org/doc/dbus-specification.html."""

import array
import contextlib
import itertools
import os
import socket
import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from patience import PATIENCE_S

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
NO_REPLY = 1
PATH, INTERFACE, MEMBER, ERROR_NAME, REPLY_TO, DESTINATION, SENDER, SIGNATURE, DESCRIPTORS = range(1, 10)
FIELD_TYPES = {PATH: "o", REPLY_TO: "u", SIGNATURE: "g", DESCRIPTORS: "u"}
NUMBERS = {"y": "B", "b": "I", "n": "h", "q": "H", "i": "i", "u": "I", "x": "q", "t": "Q", "d": "d", "h": "I"}
MOST_DESCRIPTORS = 16


class BusError(Exception):
    """An error in an answer."""

    def __init__(self, name: str, message: str) -> None:
        """Keep the error's name and its message."""
        super().__init__(f"{name}: {message}")
        self.name = name
        self.message = message


@dataclass(frozen=True)
class Message:
    """A received message."""

    kind: int
    flags: int
    serial: int
    fields: dict[int, Any]
    body: list[Any]
    descriptors: list[int]


def alignment(signature: str) -> int:
    """Return the alignment of a value of this type."""
    first = signature[0]
    return 1 if first in "ygv" else 8 if first in "({" else 4 if first in "soa" else struct.calcsize(NUMBERS[first])


def first_type(signature: str) -> str:
    """The first complete type of a signature."""
    if signature[0] == "a":
        return "a" + first_type(signature[1:])
    if signature[0] not in "({":
        return signature[0]
    depth = 0
    for end, letter in enumerate(signature):
        depth += (letter in "({") - (letter in ")}")
        if depth == 0:
            return signature[: end + 1]
    raise ValueError(signature)


def types(signature: str) -> Iterator[str]:
    """Each complete type of a signature."""
    while signature:
        yield (one := first_type(signature))
        signature = signature[len(one) :]


class Writer:
    """Marshals values. A variant is (signature, value)."""

    def __init__(self) -> None:
        """Begin a message or body."""
        self.data = bytearray()

    def pad(self, boundary: int) -> None:
        """Pad with zeros up to a multiple of this."""
        self.data += bytes(-len(self.data) % boundary)

    def put(self, signature: str, value: Any) -> None:
        """Append a value of one complete type."""
        self.pad(alignment(signature))
        kind = signature[0]
        if kind in NUMBERS:
            self.data += struct.pack("<" + NUMBERS[kind], value)
        elif kind in "sog":
            text = value.encode()
            self.data += struct.pack("<B" if kind == "g" else "<I", len(text)) + text + b"\0"
        elif kind == "v":
            self.put("g", value[0])
            self.put(*value)
        elif kind == "a":
            self.put_array(signature[1:], value)
        else:
            for one, part in zip(types(signature[1:-1]), value, strict=True):
                self.put(one, part)

    def put_array(self, signature: str, values: Any) -> None:
        """Append an array's length and values."""
        at = len(self.data)
        self.data += bytes(4)
        self.pad(alignment(signature))
        start = len(self.data)
        for value in values.items() if isinstance(values, dict) else values:
            self.put(signature, value)
        self.data[at : at + 4] = struct.pack("<I", len(self.data) - start)


class Reader:
    """Unmarshals values. A variant becomes its value."""

    def __init__(self, data: bytes) -> None:
        """Begin at the start."""
        self.data = data
        self.at = 0

    def number(self, form: str) -> Any:
        """Take a number."""
        [value] = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def take(self, signature: str) -> Any:
        """Take a value of one complete type."""
        self.at += -self.at % alignment(signature)
        kind = signature[0]
        if kind in NUMBERS:
            value = self.number(NUMBERS[kind])
            return bool(value) if kind == "b" else value
        if kind in "sog":
            length = self.number("B" if kind == "g" else "I")
            self.at += length + 1
            return self.data[self.at - length - 1 : self.at - 1].decode()
        if kind == "v":
            return self.take(self.take("g"))
        if kind == "a":
            return self.take_array(signature[1:])
        return tuple(self.take(one) for one in types(signature[1:-1]))

    def take_array(self, signature: str) -> Any:
        """Take an array. Return a dict for an array of dictionary entries."""
        length = self.number("I")
        self.at += -self.at % alignment(signature)
        end = self.at + length
        values = []
        while self.at < end:
            values.append(self.take(signature))
        return dict(values) if signature[0] == "{" else values


def marshalled(kind: int, serial: int, fields: dict[int, Any], body: Writer) -> bytes:
    """Return a whole message."""
    head = Writer()
    head.data += struct.pack("<BBBBII", ord("l"), kind, 0, 1, len(body.data), serial)
    head.put("a(yv)", [(code, (FIELD_TYPES.get(code, "s"), value)) for code, value in fields.items()])
    head.pad(8)
    return bytes(head.data + body.data)


@dataclass
class Peer:
    """A connection to a bus."""

    socket: socket.socket
    name: str = ""
    signals: deque[Message] = field(default_factory=deque)
    _replies: dict[int, Message] = field(default_factory=dict)
    _serial: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    _buffer: bytearray = field(default_factory=bytearray)
    _descriptors: deque[int] = field(default_factory=deque)

    @classmethod
    def connect(cls, address: str, uid: int | None = None) -> Self:
        """Connect to the bus. Only root may name another user to connect as."""
        path = address.partition("unix:path=")[2].partition(",")[0]
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(PATIENCE_S)
        with acting_as(uid):
            stream.connect(path)
            stream.sendall(b"\0AUTH EXTERNAL " + str(os.geteuid()).encode().hex().encode() + b"\r\n")
        peer = cls(stream)
        peer._line(b"OK")
        stream.sendall(b"NEGOTIATE_UNIX_FD\r\n")
        peer._line(b"AGREE_UNIX_FD")
        stream.sendall(b"BEGIN\r\n")
        peer.name = peer.bus("Hello")
        return peer

    def _line(self, expected: bytes) -> None:
        line = b""
        while not line.endswith(b"\r\n"):
            line += self.socket.recv(1)
        assert line.startswith(expected), line

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self.close()

    def close(self) -> None:
        """Leave the bus."""
        self.socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())

    def send(
        self, fields: dict[int, Any], signature: str = "", *values: Any, fds: tuple[int, ...] = (), kind: int = CALL
    ) -> int:
        """Send a message and return its serial."""
        body = Writer()
        for one, value in zip(types(signature), values, strict=True):
            body.put(one, value)
        serial = next(self._serial)
        fields = {**fields, SIGNATURE: signature, DESCRIPTORS: len(fds)}
        data = marshalled(kind, serial, {code: value for code, value in fields.items() if value}, body)
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self.socket.sendmsg([data], passed)
        if sent < len(data):  # to send nothing may fail: who has the answer may have left
            self.socket.sendall(data[sent:])
        return serial

    def call(self, fields: dict[int, Any], signature: str = "", *values: Any, **how: Any) -> Message:
        """Call and wait for the answer. Raises BusError for an error."""
        return self.reply(self.send(fields, signature, *values, **how))

    def reply(self, serial: int) -> Message:
        """Wait for the answer to a call."""
        while serial not in self._replies:
            self._store(self.receive())
        answer = self._replies.pop(serial)
        if answer.kind == ERROR:
            raise BusError(answer.fields[ERROR_NAME], str(answer.body[0]) if answer.body else "")
        return answer

    def bus(self, member: str, signature: str = "", *values: Any) -> Any:
        """Ask the bus itself."""
        name = "org.freedesktop.DBus"
        answer = self.call(
            {PATH: "/org/freedesktop/DBus", INTERFACE: name, MEMBER: member, DESTINATION: name}, signature, *values
        )
        return answer.body[0] if answer.body else None

    def signal(self, seconds: float = PATIENCE_S) -> Message:
        """Wait for the next signal."""
        self.socket.settimeout(seconds)
        try:
            while not self.signals:
                self._store(self.receive())
        finally:
            self.socket.settimeout(PATIENCE_S)
        return self.signals.popleft()

    def _store(self, message: Message) -> None:
        if message.kind == SIGNAL:
            self.signals.append(message)
        elif REPLY_TO in message.fields:
            self._replies[message.fields[REPLY_TO]] = message

    def _fill(self, size: int) -> None:
        while len(self._buffer) < size:
            room = socket.CMSG_SPACE(MOST_DESCRIPTORS * 4)
            data, ancillary, *_ = self.socket.recvmsg(1 << 16, room)
            if not data:
                raise EOFError("the bus has closed the connection")
            self._buffer += data
            for level, kind, passed in ancillary:
                assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
                self._descriptors.extend(array.array("i", passed))

    def receive(self) -> Message:
        """Wait for the next message."""
        self._fill(16)
        kind, flags, length, serial, fields_length = struct.unpack_from("<xBBxIII", self._buffer)
        start = 16 + fields_length + (-fields_length % 8)
        self._fill(start + length)
        data = bytes(self._buffer[: start + length])
        del self._buffer[: start + length]
        head = Reader(data)
        head.at = 12
        fields = dict(head.take("a(yv)"))
        body = Reader(data[start:])
        values = [body.take(one) for one in types(fields.get(SIGNATURE, ""))]
        fds = [self._descriptors.popleft() for _ in range(fields.get(DESCRIPTORS, 0))]
        return Message(kind, flags, serial, fields, values, fds)


@contextlib.contextmanager
def acting_as(uid: int | None) -> Iterator[None]:
    """Be another user for a moment. Does nothing for our own user."""
    before = os.geteuid()
    if uid in (None, before):
        yield
        return
    os.seteuid(uid or 0)
    try:
        yield
    finally:
        os.seteuid(before)
