# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for events, not for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], what: str, timeout_s: float = 120.0, every_s: float = 0.05) -> T:
    """Return the condition's first true value. A test that waits in vain fails and names what it waited for."""
    end = time.monotonic() + timeout_s
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout_s} s in vain until {what}; the last answer was {answer!r}")
        time.sleep(every_s)


def spend(seconds: float) -> None:
    """Let time pass that the test is about: a load's pace, a measurement, or a stretch in which nothing may happen."""
    time.sleep(seconds)
