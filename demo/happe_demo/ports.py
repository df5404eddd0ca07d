# SPDX-License-Identifier: GPL-2.0-or-later
"""Reserves ports for servers of the demonstration and of tests, while other programs take ports too."""

import socket


def reserved_port() -> int:
    """Reserve a port of 127.0.0.1 for the lifetime of this process.

    A bound socket that never listens keeps other programs away, but not a server, which sets SO_REUSEADDR.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", 0))
    port: int = reserved.getsockname()[1]
    reserved.detach()
    return port
