# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports the state to systemd: sd_notify(3), by its protocol, in one datagram."""

from __future__ import annotations

import os
import socket


def tell(*fields: str) -> None:
    """Send fields such as READY=1. Does nothing without a listener."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.sendto("\n".join(fields).encode(), f"\0{address[1:]}" if address[0] == "@" else address)
    except OSError:  # systemd is gone or busy; the recording continues
        return
