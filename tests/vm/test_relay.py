# SPDX-License-Identifier: GPL-2.0-or-later
"""Connections over one serial line: a pair of sockets stands for the line, all else is real."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from patience import PATIENCE_S
from t61.relay import HEAD, LOOPBACK, Relay, listen


def echo(listener: socket.socket) -> None:
    """Answer each connection with all that it sent, once it sends no more."""
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(all_of(connection)[::-1])


def all_of(connection: socket.socket) -> bytes:
    """What comes until no more does."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


def begin(target: Callable[..., object], *arguments: object) -> threading.Thread:
    """Run a function that ends when its sockets do."""

    def until_closed() -> None:
        with contextlib.suppress(OSError, ValueError):
            target(*arguments)

    thread = threading.Thread(target=until_closed, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def port() -> Iterator[int]:
    """The guest's port: who connects to it talks to a server at the other end of the line."""
    with contextlib.ExitStack() as stack:
        server, listener = (stack.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(2))
        ours, theirs = (stack.enter_context(one) for one in socket.socketpair())
        there = Relay(theirs.makefile("rwb", 0), lambda: socket.create_connection(server.getsockname()))
        threads = [begin(echo, server), begin(there.run), begin(listen, ours.makefile("rwb", 0), listener)]
        yield listener.getsockname()[1]
        for one in (server, listener, ours, theirs):
            one.shutdown(socket.SHUT_RDWR)  # which wakes whoever waits for it: its number may be another's soon
        for thread in threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def asked(port: int, said: bytes) -> bytes:
    """What comes back of what is said."""
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as connection:
        connection.sendall(said)
        connection.shutdown(socket.SHUT_WR)
        return all_of(connection)


def test_connections_share_a_line_and_get_their_own_bytes(port: int) -> None:
    said = [bytes([number]) * (number * 50_000 + 1) + b"." for number in range(6)]
    answers: dict[int, bytes] = {}

    def ask(number: int) -> None:
        answers[number] = asked(port, said[number])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(said))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert [answers[number] for number in range(len(said))] == [each[::-1] for each in said]


def test_who_goes_away_does_not_disturb_the_next_one(port: int) -> None:
    with socket.create_connection((LOOPBACK, port)) as rude:
        rude.sendall(b"x" * 100_000)
    assert asked(port, b"hello") == b"olleh"


def test_connections_end_with_the_line() -> None:
    near, far = socket.socketpair()
    ours, theirs = socket.socketpair()
    relay = Relay(ours.makefile("rwb", 0), lambda: near)
    thread = threading.Thread(target=relay.run)
    thread.start()
    with far, ours, theirs:
        theirs.sendall(HEAD.pack(1, 2) + b"hi")
        assert far.recv(2) == b"hi"
        theirs.shutdown(socket.SHUT_RDWR)
        assert far.recv(1) == b""
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert near.fileno() == -1
