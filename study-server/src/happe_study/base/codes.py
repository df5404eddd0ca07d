# SPDX-License-Identifier: GPL-2.0-or-later
"""Random codes that people read aloud, and secrets that they don't."""

import hashlib
import secrets

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32: no I, L, O, U
CODE_LENGTH = 8
CODE_PATTERN = rf"^[{ALPHABET}]{{{CODE_LENGTH}}}$"


def new_code() -> str:
    """A code of 40 random bits, for a run, a participant or a device. A database constraint keeps it unique."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def is_code(text: str) -> bool:
    """Whether a text can be a code. Check before a query: PostgreSQL refuses a text with NUL."""
    return len(text) == CODE_LENGTH and set(text) <= set(ALPHABET)


def new_secret() -> str:
    """A secret of 256 random bits, safe in a URL."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """The stored digest of a secret. A secret has 256 random bits, so a fast hash is enough (unlike for a password)."""
    return hashlib.sha256(secret.encode()).hexdigest()
