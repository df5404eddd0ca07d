# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides what a server's answer means for a request: the table of docs/uploads.md, Once. Pure."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from happe_power.upload.server import Answer

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
