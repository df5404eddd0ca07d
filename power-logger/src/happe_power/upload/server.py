# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server over HTTP, and the meaning of its answers: the table of docs/uploads.md, Once.

An answer can neither redirect a request nor fill the memory.
"""

import ipaddress
import json
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError, SSLError

from happe_contract.strict_json import Json
from happe_power import __version__

MOST_ANSWER_BYTES = 1 << 20  # a refused seal may list 32,768 parts
MOST_WAIT_S = 3600
TIMEOUT = urllib3.Timeout(connect=10, read=120)
JSON = "application/json"


class AddressError(Exception):
    """The server's address can't be used; the message says why and what to do."""


class NoAnswerError(Exception):
    """The server did not answer, or another program answered. A later request may succeed."""


@dataclass(frozen=True)
class Answer:
    """The server's answer. `document` is empty if the body is no JSON object."""

    status: int
    document: Json = field(default_factory=dict)
    retry_after_s: int = 0

    @property
    def detail(self) -> str:
        """The server's error message (RFC 9457) on one line, with its first three faults."""
        faults = self.document.get("errors")
        listed = [f"{each.get('pointer')} {each.get('detail')}" for each in faults or () if isinstance(each, dict)]
        text = "; ".join([str(self.document.get("detail") or ""), *listed[:3]]).strip("; ")
        return "".join(c if c.isprintable() else " " for c in text)[:400] or f"HTTP status {self.status}"


class Server:
    """A study server. Requests go only to its address; the client follows no redirection."""

    def __init__(self, url: str, token: str | None, *, ca_file: Path | None = None, plain_http: bool = False) -> None:
        """Open no connection yet. Raises AddressError."""
        self.url = checked_address(url, plain_http=plain_http)
        trust = {"cert_reqs": "CERT_REQUIRED", "ca_certs": str(ca_file) if ca_file else None}
        options: dict[str, Any] = trust if self.url.startswith("https:") else {}
        self._pool = urllib3.connection_from_url(self.url, timeout=TIMEOUT, retries=False, maxsize=1, **options)
        self._path = urlsplit(self.url).path.rstrip("/")
        self._headers = {"User-Agent": f"happe-power/{__version__}", "Accept": JSON}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        """Close the connection."""
        self._pool.close()

    def get(self, path: str, *, patience_s: float | None = None) -> Answer:
        """GET a path below /api/v1; each step waits at most `patience_s` seconds. Raises NoAnswerError."""
        return self._ask("GET", path, None, {}, TIMEOUT if patience_s is None else urllib3.Timeout(patience_s))

    def send_json(self, method: str, path: str, raw: bytes) -> Answer:
        """Send a JSON document as it is. Raises NoAnswerError."""
        return self._ask(method, path, raw, {"Content-Type": JSON})

    def put_file(self, path: str, file: IO[bytes], length: int, headers: dict[str, str]) -> Answer:
        """Send a file of this length while reading it. Raises NoAnswerError."""
        return self._ask("PUT", path, file, {"Content-Length": str(length), **headers})

    def _ask(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None,
        headers: dict[str, str],
        timeout: urllib3.Timeout = TIMEOUT,
    ) -> Answer:
        try:
            response = self._pool.urlopen(
                method,
                f"{self._path}/api/v1/{path}",
                body=body,
                headers=self._headers | headers,
                redirect=False,
                timeout=timeout,
                preload_content=False,
            )
        except SSLError as error:
            raise NoAnswerError(f"{self.url}: its certificate is not good: {_last_words(error)}; see ca_file") from None
        except (HTTPError, OSError) as error:
            raise NoAnswerError(f"{self.url} does not answer: {_last_words(error)}") from None
        try:
            return _read(response)
        except (HTTPError, OSError) as error:
            raise NoAnswerError(f"{self.url} did not end its answer: {_last_words(error)}") from None


def checked_address(url: str, *, plain_http: bool) -> str:
    """Return an address without a slash at its end. Raises AddressError if it can't be used."""
    parts = urlsplit(url)
    try:
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good or parts.username is not None or parts.query or parts.fragment:
        raise AddressError(f"{url}: is not a server's address, such as https://study.example.org")
    if parts.scheme == "http" and not plain_http and not _is_loopback(parts.hostname or ""):
        raise AddressError(f"{url}: the token would travel without encryption; use https, or set plain_http = true")
    return url.rstrip("/")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(response: urllib3.BaseHTTPResponse) -> Answer:
    """Read an answer. The study server sends at most 1 MiB; close the connection of a longer answer."""
    raw = response.read(MOST_ANSWER_BYTES + 1, decode_content=False)
    if len(raw) > MOST_ANSWER_BYTES:
        response.close()
        raise NoAnswerError(f"the answer does not come from a study server: more than {MOST_ANSWER_BYTES} bytes")
    response.release_conn()
    wait = response.headers.get("Retry-After", "")
    wait_s = min(int(wait), MOST_WAIT_S) if wait.isascii() and wait.isdigit() and len(wait) < len("1" * 9) else 0
    return Answer(response.status, object_of(raw), wait_s)


def object_of(raw: bytes) -> Json:
    """A JSON object; empty for anything else."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _last_words(error: BaseException) -> str:
    """The innermost message in a chain of urllib3's errors."""
    while isinstance(inner := getattr(error, "reason", None), BaseException):
        error = inner
    return "".join(c if c.isprintable() else " " for c in str(error))[:200] or type(error).__name__


DONE = {HTTPStatus.OK, HTTPStatus.CREATED}
NOT_OURS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
LATER = {
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
    HTTPStatus.INSUFFICIENT_STORAGE,
}
MENDED = {HTTPStatus.PRECONDITION_FAILED, HTTPStatus.PRECONDITION_REQUIRED}
MOST_PAUSE_S = 300.0


class LaterError(Exception):
    """The request failed for now; the uploader sends it again after a pause."""

    def __init__(self, reason: str, least_pause_s: int = 0, status: int | None = None) -> None:
        """Take the reason, the least pause in seconds that the server asks for, and its HTTP status."""
        super().__init__(reason)
        self.least_pause_s = least_pause_s
        self.status = status


class StoppedError(Exception):
    """A person must look at this trace. The uploader keeps it, and sends nothing more of it."""


class RefusedError(Exception):
    """The server no longer accepts this host's token. The uploader sends nothing until a person enrols it again."""


def judge(answer: Answer, what: str) -> None:
    """Return if `what` has arrived. Raises LaterError, StoppedError, RefusedError."""
    status = answer.status
    if status in DONE:
        return
    if status in LATER:
        raise LaterError(f"{what}: {answer.detail}", answer.retry_after_s, status)
    if status in NOT_OURS:
        advice = "enrol the device again, then `happe-power enrol --again`; the recordings stay"
        raise RefusedError(f"the server refuses this host's token ({status}: {answer.detail}); {advice}")
    raise StoppedError(f"{what}: {_meaning(status)} ({status}: {answer.detail})")


def _meaning(status: int) -> str:
    if status == HTTPStatus.CONFLICT:
        return "the server has something else under this name, or can't take it now"
    if status == HTTPStatus.NOT_FOUND:
        return "the server knows no such trace of this host"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return "it is larger than the server allows; somebody must raise limits.part_bytes there"
    if status in MENDED:
        return "this program has made a mistake; please report it"
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return (
            "the server redirects to another address, and happe-power sends its token only to the configured one; "
            "set `server` to its real address"
        )
    return "the server can't read it, or it breaks its contract"


def pause_s(failures: int, jitter: float) -> float:
    """Return the seconds to wait after so many failures in a row; `jitter` is in [0, 1).

    The longest pause doubles from 1 s to five minutes. `jitter` adds between none and all of its second half, so that
    hosts that lost a server together do not return together.
    """
    longest = min(MOST_PAUSE_S, 2.0 ** min(failures - 1, 16))
    return longest * (0.5 + 0.5 * jitter)
