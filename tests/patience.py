# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for events with a limit. Only this file sleeps in tests; ruff checks this."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

T = TypeVar("T")

PATIENCE_S = 300.0
"""Seconds until a test gives up. No demand on speed: a shared machine may give a tenth of itself for minutes."""


def until(
    happens: Callable[[], T | Literal[False] | None], what: str = "what was waited for", seconds: float = PATIENCE_S
) -> T:
    """Wait until a function's value is true, and return it."""
    end = time.monotonic() + seconds
    while not (value := happens()):
        assert time.monotonic() < end, f"{what} has not happened"
        time.sleep(0.01)
    return value


def spend(seconds: float) -> None:
    """Let time pass that is itself under test: a load's pace, a kill's moment, a stretch in which nothing may happen.

    Never wait for an event like this: use `until`.
    """
    time.sleep(seconds)


def is_running(pid: int) -> bool:
    """Whether a process lives and is not a zombie."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
