# SPDX-License-Identifier: GPL-2.0-or-later
"""Ports for servers of the demonstration and of tests, while other programs take ports too."""

from __future__ import annotations

import socket


def reserved_port() -> int:
    """A port of 127.0.0.1 that is nobody else's while this process lives.

    A bound socket that never listens keeps it from other programs, not from a server, which sets SO_REUSEADDR.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    port: int = reserved.getsockname()[1]
    reserved.detach()
    return port
