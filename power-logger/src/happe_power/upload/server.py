# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server over HTTP. An answer can neither redirect a request nor fill the memory."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError, SSLError

from happe_power import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from happe_contract.strict_json import Json

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
    return Answer(response.status, _object(raw), wait_s)


def _object(raw: bytes) -> Json:
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
