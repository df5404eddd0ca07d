# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's clock."""

import time


def now_us() -> int:
    """Microseconds since 1970, UTC."""
    return time.time_ns() // 1000
