# SPDX-License-Identifier: GPL-2.0-or-later
"""Enrolment codes and public keys: what a new device shows. Pure."""

import base64
import binascii
import hashlib

from happe_study.base.codes import ALPHABET, CODE_LENGTH, new_code
from happe_study.study.sealing import check_public_key

MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})  # as in Crockford's base 32


def new_enrolment_code() -> str:
    """A code of 80 random bits that people can type: two groups of eight."""
    return f"{new_code()}-{new_code()}"


def plain(code: str) -> str | None:
    """A typed code without hyphens and spaces, with misread letters corrected; None if it can't be a code."""
    read = code.upper().translate(MISREAD)
    return read if len(read) == 2 * CODE_LENGTH and set(read) <= set(ALPHABET) else None


def public_key(text: str) -> bytes:
    """Decode an X25519 public key from base64. Raises binascii.Error, or PublicKeyError for an unusable key."""
    try:
        key = base64.b64decode(text.encode("ascii"), validate=True)
    except UnicodeEncodeError:
        raise binascii.Error("not ASCII") from None
    check_public_key(key)
    return key


def fingerprint(key: bytes | None) -> str | None:
    """The fingerprint by which people recognise a laptop's key: SHA-256 in hexadecimal. None for a meter's."""
    return hashlib.sha256(key).hexdigest() if key else None
