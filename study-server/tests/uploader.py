# SPDX-License-Identifier: GPL-2.0-or-later
"""A device that uploads over real HTTP, and tries again until the server answers, as docs/uploads.md asks."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from patience import PATIENCE_S

RETRIED = {
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
    HTTPStatus.INSUFFICIENT_STORAGE,
}
DONE = {HTTPStatus.CREATED, HTTPStatus.OK}
PAUSE_SECONDS = 0.02


@dataclass(frozen=True)
class Item:
    """An upload: its address, and a function that makes its headers and body."""

    path: str
    make: Callable[[], tuple[dict[str, str], bytes | list[bytes]]]


@dataclass
class Uploader:
    """Uploads items one after another on one connection. `acknowledged` has their paths, in order."""

    port: int
    token: str
    ended: threading.Event
    acknowledged: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    lost: int = 0  # requests without an answer
    _connection: HTTPConnection | None = None

    def run(self, items: Iterator[Item]) -> None:
        """Upload until the items end or `ended` is set. Any answer except success and reasons to retry is an error."""
        for item in items:
            while not self.ended.is_set():
                status = self.send(item)
                if status in DONE:
                    self.acknowledged.append(item.path)
                    break
                assert status is None or status in RETRIED, (status, item.path)
                self.ended.wait(PAUSE_SECONDS)
            if self.ended.is_set():
                return

    def send(self, item: Item) -> int | None:
        """Upload once. Returns the status, or None without an answer."""
        headers, body = item.make()
        try:
            if self._connection is None:
                self._connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            self._connection.request("PUT", item.path, body, {"Authorization": f"Bearer {self.token}", **headers})
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, HTTPException):
            self.close()
            self.lost += 1
            return None
        self.statuses[answer.status] += 1
        return answer.status

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass
class Crowd:
    """Uploaders in threads. `end` raises the first error of any."""

    ended: threading.Event = field(default_factory=threading.Event)
    uploaders: list[Uploader] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def add(self, port: int, token: str, items: Iterator[Item]) -> None:
        """Start one more uploader."""
        uploader = Uploader(port, token, self.ended)
        self.uploaders.append(uploader)
        thread = threading.Thread(target=self._run, args=(uploader, items), daemon=True)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """Stop all uploaders at once. Raises the first error of any."""
        self.ended.set()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]

    def acknowledged(self) -> list[str]:
        """The paths of all acknowledged uploads."""
        return [path for uploader in self.uploaders for path in uploader.acknowledged]

    def wait_for(self, more: int) -> None:
        """Wait until servers have acknowledged `more` more uploads."""
        wanted, deadline = len(self.acknowledged()) + more, time.monotonic() + PATIENCE_S
        while len(self.acknowledged()) < wanted:
            assert time.monotonic() < deadline, "the server takes nothing any more"
            assert not self.errors, self.errors
            self.ended.wait(0.005)

    def wait_for_status(self, status: int, more: int) -> None:
        """Wait until `more` more answers have had this status."""
        wanted, deadline = self.statuses()[status] + more, time.monotonic() + PATIENCE_S
        while self.statuses()[status] < wanted:
            assert time.monotonic() < deadline, f"no {status}: {self.statuses()}"
            assert not self.errors, self.errors
            self.ended.wait(0.005)

    def statuses(self) -> Counter[int]:
        """The number of answers with each status."""
        return sum((uploader.statuses for uploader in self.uploaders), Counter())

    def lost(self) -> int:
        """The number of requests without an answer."""
        return sum(uploader.lost for uploader in self.uploaders)

    def _run(self, uploader: Uploader, items: Iterator[Item]) -> None:
        try:
            uploader.run(items)
        except BaseException as error:  # noqa: BLE001 - raised by `end`
            self.errors.append(error)
        finally:
            uploader.close()
