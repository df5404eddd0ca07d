# SPDX-License-Identifier: GPL-2.0-or-later
"""Enrolment codes and public keys: what a new device shows. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib

from happe_study.base.codes import ALPHABET, CODE_LENGTH, new_code
from happe_study.design.allocation.sealing import check_public_key

MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})  # as Crockford says


def new_enrolment_code() -> str:
    """A code of 80 random bits that people can type: two groups of eight."""
    return f"{new_code()}-{new_code()}"


def plain(code: str) -> str | None:
    """A code as it was typed, without hyphens, spaces and misread letters; None if it can't be one."""
    read = code.upper().translate(MISREAD)
    return read if len(read) == 2 * CODE_LENGTH and set(read) <= set(ALPHABET) else None


def public_key(text: str) -> bytes:
    """An X25519 public key out of base64. Raises binascii.Error, or PublicKeyError for a key of no use."""
    try:
        key = base64.b64decode(text.encode("ascii"), validate=True)
    except UnicodeEncodeError:
        raise binascii.Error("not ASCII") from None
    check_public_key(key)
    return key


def fingerprint(key: bytes | None) -> str | None:
    """By which people know a laptop's key: SHA-256 of its 32 bytes, in hexadecimal. A meter has none."""
    return hashlib.sha256(key).hexdigest() if key else None
