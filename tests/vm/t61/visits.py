# SPDX-License-Identifier: GPL-2.0-or-later
"""A visitor of the study server's pages, by HTTP: fills in forms and sends them with their hidden fields."""

import base64
import html
import json
import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
PATIENCE_S = 120


class Visitor:
    """One person's browser. If the server refuses a page, it raises urllib.error.HTTPError."""

    def __init__(self, server: str) -> None:
        """Start without cookies."""
        self._server = server
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def sees(self, path: str) -> str:
        """Return a page's HTML. Follows redirections."""
        return self._asks(path, None)

    def sends(self, path: str, **fields: str) -> str:
        """Fill in these fields of a page's form and send it. Return the next page."""
        hidden = {name: html.unescape(value) for name, value in HIDDEN.findall(self.sees(path))}
        return self._asks(path, urllib.parse.urlencode(hidden | fields).encode())

    def _asks(self, path: str, form: bytes | None) -> str:
        # A browser also names the form's page; the server does not ask for it over plain HTTP on loopback.
        with self._opener.open(urllib.parse.urljoin(self._server, path), form, timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
            return text


def enrolled(server: str, code: str, public_key: bytes) -> str:
    """Enrol a laptop with a key that it will not use. Return its code."""
    said = json.dumps({"code": code, "public_key": base64.b64encode(public_key).decode()}).encode()
    address = urllib.parse.urljoin(server, "/api/v1/devices/enrol")
    request = urllib.request.Request(address, said, {"Content-Type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        device: str = json.load(answer)["device"]
        return device


def take_part(server: str, link: str, **answers: str) -> None:
    """Follow a participant's link, consent, answer the questionnaire, and read the instructions."""
    visitor = Visitor(server)
    visitor.sends(link)
    visitor.sends("/p/consent", decision="agree", on_withdrawal="erase")
    visitor.sends("/p/questionnaire", **answers)
    visitor.sends("/p/handout")
