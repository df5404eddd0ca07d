# SPDX-License-Identifier: GPL-2.0-or-later
"""The requests of data/bad_requests.jsonl. A line has these fields.

    about     the reason for the case
    who       a caller of scene.py; `anybody` sends no token
    method, path, headers
    json, text, base64, repeat   the body: JSON, text, bytes, or [a piece, how often, optionally what closes each]
    status    of the answer
    type      of the problem, after urn:happe:problem: (only in the API, not on pages)
    at        pointers of all its errors, in any order; without `at`, any errors are right

`{name}` in path, headers and body stands for the value of this name in scene.py. `{long:PIECE*N}` is a piece N times.

A request that is bad in several places has one line with `in`, which names a kind of places. Each line with `of` is a
place of that kind. The tests send the request to every place, with the fields of both lines. `it` of the request
replaces `{it}` in the paths.
"""

import base64
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scene import Scene

Json = dict[str, Any]

PATH = Path(__file__).parent / "data/bad_requests.jsonl"
LINES: list[Json] = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]
NAME = re.compile(r"{([a-z_]+)}")
END = 8192  # bytes
LONG = re.compile(r"{long:([^*}]+)\*(\d+)}")


def in_every_place(line: Json) -> list[Json]:
    """The cases of a line."""
    if "in" not in line:
        return [] if "of" in line else [line]
    own = {name: value for name, value in line.items() if name not in ("in", "it")}
    return [
        {name: value for name, value in (place | own).items() if name != "of"}
        | {"about": f"{place['about']}: {line['about']}", "path": place["path"].replace("{it}", line.get("it", ""))}
        for place in LINES
        if place.get("of") == line["in"]
    ]


CASES = [case for line in LINES for case in in_every_place(line)]


@dataclass(frozen=True)
class Sent:
    """A request as a test sends it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None

    def texts(self) -> list[str]:
        """The texts that an answer might repeat. Of a very long body, only the beginning and the end."""
        body = self.body or b""
        ends = body if len(body) <= 2 * END else body[:END] + body[-END:]
        read = ends.decode("utf-8", "replace")
        return [self.path, *self.headers.values(), read, ends.decode("unicode_escape", "replace")]


def sent(case: Json, scene: Scene) -> Sent:
    """Fill in a case. The headers contain the caller's token, unless the case has a token of its own."""

    def filled(text: str) -> str:
        text = LONG.sub(lambda found: found[1] * int(found[2]), text)
        return NAME.sub(lambda found: scene.names.get(found[1], found[0]), text)

    headers = {name: filled(value) for name, value in case.get("headers", {}).items()}
    if "json" in case:
        headers.setdefault("Content-Type", "application/json")
    token = scene.tokens.get(case["who"])
    if token and "Authorization" not in headers:
        headers["Authorization"] = f"Bearer {token}"
    body = _body(case)
    if body is not None and "base64" not in case:
        body = filled(body.decode("utf-8", "surrogatepass")).encode("utf-8", "surrogatepass")
    return Sent(case["method"], filled(case["path"]), headers, body)


def _body(case: Json) -> bytes | None:
    if "json" in case:
        return json.dumps(case["json"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    if "text" in case:
        return str(case["text"]).encode()
    if "base64" in case:
        return base64.b64decode(case["base64"])
    if "repeat" in case:
        piece, times, *closing = case["repeat"]
        repeated: str = piece * times + "".join(closing) * times
        return repeated.encode()
    return None
