# SPDX-License-Identifier: GPL-2.0-or-later
"""Somebody at the study server's pages, by HTTP: forms are filled in and sent as they are, hidden fields and all."""

from __future__ import annotations

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
    """A browser of somebody's own. Pages that are refused raise urllib.error.HTTPError."""

    def __init__(self, server: str) -> None:
        """Nobody knows it yet."""
        self._server = server
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def sees(self, path: str) -> str:
        """A page's HTML, wherever its address leads."""
        return self._asks(path, None)

    def sends(self, path: str, **fields: str) -> str:
        """Send the form of a page with these fields filled in; the page that comes."""
        hidden = {name: html.unescape(value) for name, value in HIDDEN.findall(self.sees(path))}
        return self._asks(path, urllib.parse.urlencode(hidden | fields).encode())

    def _asks(self, path: str, form: bytes | None) -> str:
        # A browser says where a form was; over plain HTTP on loopback the server does not ask.
        with self._opener.open(urllib.parse.urljoin(self._server, path), form, timeout=PATIENCE_S) as answer:
            text: str = answer.read().decode()
            return text


def enrolled(server: str, code: str, public_key: bytes) -> str:
    """The code of a laptop that enrols with a key that is not used."""
    said = json.dumps({"code": code, "public_key": base64.b64encode(public_key).decode()}).encode()
    address = urllib.parse.urljoin(server, "/api/v1/devices/enrol")
    request = urllib.request.Request(address, said, {"Content-Type": "application/json"})  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        device: str = json.load(answer)["device"]
        return device


def asked(server: str, path: str, token: str) -> str:
    """What the API answers to a program that has somebody's token."""
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(urllib.parse.urljoin(server, path), headers=headers)  # noqa: S310 - ours
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310 - ours
        text: str = answer.read().decode()
        return text


def take_part(server: str, link: str, **answers: str) -> None:
    """Follow a participant's link, consent, answer the questionnaire with this, and read the instructions."""
    visitor = Visitor(server)
    visitor.sends(link)
    visitor.sends("/p/consent", decision="agree", on_withdrawal="erase")
    visitor.sends("/p/questionnaire", **answers)
    visitor.sends("/p/handout")


def first_sign_in(server: str, email: str, given: str, chosen: str) -> Visitor:
    """Somebody of the staff, who has chosen a password of their own."""
    visitor = Visitor(server)
    visitor.sends("/sign-in", email=email, password=given)
    visitor.sends("/password", password=given, new_password=chosen, new_password_confirm=chosen)
    return visitor
