# SPDX-License-Identifier: GPL-2.0-or-later
"""Sends the demonstration's requests to the server, as devices do, and as people with a browser."""

import json
import re
from html import unescape
from http import HTTPStatus
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode, urljoin

import urllib3

from happe_demo.children import DemoError

Json = dict[str, Any]

TIMEOUT = urllib3.Timeout(connect=10, read=60)
AGAIN = urllib3.Retry(
    2, redirect=0, status=0, allowed_methods=None
)  # the server may just have closed a kept connection
HIDDEN = re.compile(r'<input[^>]*type="hidden"[^>]*name="([^"]+)"[^>]*value="([^"]*)"')


class Api:
    """The server's HTTP interface, with a token."""

    def __init__(self, url: str, token: str | None = None) -> None:
        """Send no request yet."""
        self._url = f"{url}/api/v1/"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=AGAIN)

    def __call__(self, method: str, path: str, document: Json | bytes | None = None) -> Json:
        """Send a document, or nothing, and return the server's answer. Raises DemoError unless it succeeds."""
        body = json.dumps(document, separators=(",", ":")).encode() if isinstance(document, dict) else document
        headers = self._headers | ({"Content-Type": "application/json"} if body is not None else {})
        answer = _request(self._pool, method, self._url + path, headers=headers, body=body)
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise DemoError(f"{method} {path}: {answer.status}", answer.data.decode(errors="replace")[:1000])
        return json.loads(answer.data) if answer.data else {}


class Browser:
    """A person with a browser: pages, forms, cookies."""

    def __init__(self, url: str) -> None:
        """Start without an open page."""
        self._url = url
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=AGAIN)
        self._cookies: dict[str, str] = {}
        self._hidden: dict[str, str] = {}

    def open(self, path: str) -> str:
        """Open a page, follow its redirections, and return its text."""
        return self._page(self._follow("GET", path))

    def download(self, path: str) -> bytes:
        """Download a file."""
        return self._follow("GET", path)

    def send(self, path: str, **fields: str) -> str:
        """Send the open page's form with these fields, and return the text of the next page."""
        body = urlencode(self._hidden | fields).encode()
        return self._page(self._follow("POST", path, body, "application/x-www-form-urlencoded"))

    def _page(self, content: bytes) -> str:
        text = content.decode()
        self._hidden = {name: unescape(value) for name, value in HIDDEN.findall(text)}
        return text

    def _follow(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> bytes:
        address = urljoin(self._url + "/", path)
        while True:
            headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
            if body is not None:
                headers["Content-Type"] = kind
            answer = _request(self._pool, method, address, headers=headers, body=body, redirect=False)
            self._keep(answer.headers.getlist("Set-Cookie"))
            if answer.status not in (HTTPStatus.FOUND, HTTPStatus.SEE_OTHER):
                break
            method, body, address = "GET", None, urljoin(address, answer.headers["Location"])
        if answer.status != HTTPStatus.OK:
            raise DemoError(f"{method} {path}: {answer.status}")
        return answer.data

    def _keep(self, lines: list[str]) -> None:
        for line in lines:
            self._cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}


def _request(pool: urllib3.PoolManager, method: str, url: str, **more: Any) -> urllib3.BaseHTTPResponse:  # noqa: ANN401 - as in urllib3
    """Send a request, and return the answer. Raises DemoError if there is none."""
    try:
        return pool.request(method, url, **more)
    except urllib3.exceptions.HTTPError as error:
        raise DemoError(f"{method} {url}: {error}") from None


def answers(url: str) -> bool:
    """Whether a server answers at this address."""
    try:
        return urllib3.request("GET", f"{url}/healthz", timeout=1.0, retries=False).status == HTTPStatus.OK
    except urllib3.exceptions.HTTPError:
        return False
