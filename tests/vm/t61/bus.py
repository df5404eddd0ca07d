# SPDX-License-Identifier: GPL-2.0-or-later
"""Receives signals on the system bus."""

import json
import selectors
import subprocess
import time
from types import TracebackType
from typing import Any, Self

READY_S = 120.0


class Signals:
    """Collects the signals of a match rule from its creation on; `with Signals("member='X'") as signals:`."""

    def __init__(self, match: str) -> None:
        """Return once the bus has the rule."""
        command = ["stdbuf", "-oL", "busctl", "monitor", "--json=short", f"--match=type='signal',{match}"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self._process.stdout  # noqa: S101 - PIPE
        assert self._process.stderr  # noqa: S101 - PIPE
        self._process.stderr.readline()  # "Monitoring bus message stream."
        self._stream = self._process.stdout
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stream, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        """Return the collector, which is listening already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._process.kill()
        self._process.communicate()

    def next(self, timeout_s: float = READY_S) -> dict[str, Any]:
        """Return the next signal: "member", "path", "sender", "payload" (its arguments). Fails if none comes."""
        if not self._selector.select(timeout_s):
            raise AssertionError(f"no signal within {timeout_s} s")
        message: dict[str, Any] = json.loads(self._stream.readline())
        return message | {"payload": message["payload"]["data"]}

    def until(self, member: str, timeout_s: float = READY_S) -> dict[str, Any]:
        """Return the next signal of this name."""
        end = time.monotonic() + timeout_s
        while (signal := self.next(max(end - time.monotonic(), 0.0)))["member"] != member:
            pass
        return signal
