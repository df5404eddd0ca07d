# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends an upload: finds the missing parts, sends the manifest, and stores the server's seal."""

from __future__ import annotations

import json
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING

from happe_power.recording.files import write_whole
from happe_power.upload.outbox import MANIFEST, SEAL
from happe_power.upload.server import LaterError, StoppedError, judge

if TYPE_CHECKING:
    from happe_contract.strict_json import Json
    from happe_power.upload.outbox import Outbox, Part
    from happe_power.upload.server import Answer, Server

PADDED_BYTES = 1 << 16
MOST_ASKED = 3  # how often the server may ask for one part before we take a pause
NOT_THE_SERVER = "the answer does not come from a study server"


class Sealing:
    """Seals one trace after the upload of all its parts."""

    def __init__(self, server: Server, outbox: Outbox) -> None:
        """Send no request yet."""
        self._server = server
        self._outbox = outbox
        self._asked: Counter[int] = Counter()

    def step(self) -> bool:
        """Try to seal the trace. False: the server lacks parts; send them first. Raises LaterError, StoppedError."""
        outbox = self._outbox
        missing = self._missing()
        if missing:
            self._again(missing)
            return False
        raw = (outbox.folder / MANIFEST).read_bytes()
        raw += b" " * (-len(raw) % PADDED_BYTES)  # the number of gaps in it would reveal the power
        answer = self._server.send_json("PUT", f"traces/{outbox.id}/seal", raw)
        if answer.status == HTTPStatus.CONFLICT and (missing := _numbers(answer.document.get("missing"))):
            self._again(missing)
            return False
        if answer.status == HTTPStatus.CONFLICT and (others := _others(answer.document)):
            raise StoppedError(f"the seal of trace {outbox.id}: {others} ({answer.status}: {answer.detail})")
        judge(answer, f"the seal of trace {outbox.id}")
        require_trace(answer, outbox.id)
        if answer.document.get("sealed") is not True:
            raise LaterError(f"the seal of trace {outbox.id}: {NOT_THE_SERVER}")
        write_whole(outbox.folder / SEAL, compact(answer.document))
        return True

    def _missing(self) -> list[int]:
        """Ask the server which parts it lacks. It lists the first thousand numbers."""
        answer = self._server.get(f"traces/{self._outbox.id}/missing?count={self._outbox.manifest['count']}")
        judge(answer, f"the missing parts of trace {self._outbox.id}")
        if not isinstance(answer.document.get("missing"), list):
            raise LaterError(f"the missing parts of trace {self._outbox.id}: {NOT_THE_SERVER}")
        return _numbers(answer.document["missing"])

    def _again(self, missing: list[int]) -> None:
        """Mark parts to send again. Raises StoppedError if one is damaged or gone, LaterError if it comes too often."""
        here = set(self._outbox.numbers())
        for number in missing:
            if reason := self._outbox.damaged.get(number, "" if number in here else "it is not on this disk"):
                raise StoppedError(
                    f"part {number} of trace {self._outbox.id} is damaged and was not sent: {reason}; "
                    f"without it the trace can't be sealed; `happe-power verify {self._outbox.folder}` says more"
                )
            self._outbox.lost(number)
        self._asked.update(missing)
        if max(self._asked[number] for number in missing) > MOST_ASKED:
            self._asked.clear()
            raise LaterError(f"trace {self._outbox.id}: the server has acknowledged parts that it says are missing")


def require_trace(answer: Answer, trace: str) -> None:
    """Raise LaterError unless an answer names this trace: a captive portal answers 200 to any request."""
    if answer.document.get("trace") != trace:
        raise LaterError(f"trace {trace}: {NOT_THE_SERVER}")


def require_part(answer: Answer, part: Part) -> None:
    """Raise LaterError unless an answer names this part."""
    said = answer.document
    if (said.get("number"), said.get("sha256")) != (part.number, part.sha256):
        raise LaterError(f"part {part.number}: {NOT_THE_SERVER}")


def compact(document: Json) -> bytes:
    """A document as bytes, without blanks."""
    return json.dumps(document, separators=(",", ":")).encode()


def _numbers(value: object) -> list[int]:
    return [each for each in value if type(each) is int and each >= 0] if isinstance(value, list) else []


def _others(document: Json) -> str:
    """Describe the server's other objections to a manifest, each with at most 20 part numbers."""
    meanings = {
        "mismatched": "it has other bytes for parts",
        "unexpected": "it has parts that the manifest does not list:",
    }
    found = [(meaning, _numbers(document.get(name))) for name, meaning in meanings.items()]
    return "; ".join(f"{meaning} {', '.join(map(str, numbers[:20]))}" for meaning, numbers in found if numbers)
