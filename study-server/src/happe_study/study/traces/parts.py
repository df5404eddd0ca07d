# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of an uploaded part: its request's header fields, and whether its bytes can be a Parquet file. Pure.

Sources: RFC 9530 (Content-Digest), RFC 8941 (its syntax), RFC 9110 section 13.1.2 (If-None-Match), Parquet's own page
(github.com/apache/parquet-format, File format).
"""

from __future__ import annotations

import base64
import binascii
import re

MAGIC = b"PAR1"  # first and last four bytes; a file with an encrypted footer has PARE, which the server refuses
TAIL_BYTES = 8  # the footer's length, little-endian, and the magic
LEAST_BYTES = 12  # two magics and a length
SHA256_BYTES = 32
MOST_HEADER = 2048  # characters

_BYTES = r":(?P<base64>[A-Za-z0-9+/]*={0,2}):"
_MEMBER = re.compile(rf"[ \t]*(?P<key>[a-z*][a-z0-9_.*-]*)={_BYTES}[ \t]*")


class BadHeaderError(Exception):
    """A header field can't be used. The message says why, without repeating the field."""


def content_digest(field: str | None) -> bytes:
    """The 32 bytes of SHA-256 in a Content-Digest field. It skips other algorithms. Raises BadHeaderError."""
    if field is None:
        raise BadHeaderError("Content-Digest is missing: send sha-256=:BASE64:")
    digests = _members(field)
    if "sha-256" not in digests:
        raise BadHeaderError("Content-Digest has no sha-256")
    return digests["sha-256"]


def _members(field: str) -> dict[str, bytes]:
    """Digests by algorithm, from a dictionary of byte sequences. The last of repeated keys counts (RFC 8941, 3.2)."""
    if len(field) > MOST_HEADER:
        raise BadHeaderError("Content-Digest is too long")
    digests = {}
    for member in field.split(","):
        matched = _MEMBER.fullmatch(member)
        if matched is None:
            raise BadHeaderError("Content-Digest is malformed: send sha-256=:BASE64:")
        digests[matched["key"]] = _decoded(matched["key"], matched["base64"])
    return digests


def _decoded(key: str, text: str) -> bytes:
    try:
        digest = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise BadHeaderError("Content-Digest is malformed: its base64 is") from None
    if key == "sha-256" and len(digest) != SHA256_BYTES:
        raise BadHeaderError("Content-Digest is malformed: a SHA-256 has 32 bytes")
    return digest


def require_if_none_match(field: str | None) -> None:
    """Raise BadHeaderError for anything but `If-None-Match: *`: nothing replaces a part."""
    if field is None:
        raise BadHeaderError("If-None-Match is missing: send *")
    if field.strip(" \t") != "*":
        raise BadHeaderError("If-None-Match must be *: the server never replaces a part")


def parquet_fault(part: bytes | bytearray) -> str | None:
    """Why bytes can't be a Parquet file; None if they may be one.

    This checks only the frame. The code that reads the columns checks whether they are the trace's.
    """
    if len(part) < LEAST_BYTES:
        return f"has fewer than {LEAST_BYTES} bytes"
    if part[: len(MAGIC)] != MAGIC:
        return "does not begin like a Parquet file"
    if part[-len(MAGIC) :] != MAGIC:
        return "does not end like a Parquet file"
    footer = int.from_bytes(part[-TAIL_BYTES : -len(MAGIC)], "little")
    if not 0 < footer <= len(part) - LEAST_BYTES:
        return "has a Parquet footer of impossible length"
    return None
