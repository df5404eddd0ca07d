# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's clock."""

from __future__ import annotations

import time


def now_us() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000
