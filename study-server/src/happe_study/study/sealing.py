# SPDX-License-Identifier: GPL-2.0-or-later
"""Encryption (sealing) of the allocation in the database and on the network. All seals of a kind have one length.

At rest: XChaCha20-Poly1305 under the server's key. Its associated data is the seal's purpose (a run's code, a slot's
place, a study's name), so that a seal moved to another row does not open. On the network: a sealed box that only the
enrolled device can open. Records of runs and manifests of power traces reveal conditions too. The server seals them
under keys derived from its own, and pads them (study/records/stored.py, study/traces/sealed.py). Each power trace has
its own key for its parts (study/traces/sealed.py), which the database stores sealed.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

import nacl.bindings
import nacl.exceptions
import nacl.public
import nacl.secret

from happe_study.study.allocation import SECRET_BYTES, PlannedRun, SlotPlan
from happe_study.study.protocol.conditions import Condition

KEY_BYTES = nacl.secret.Aead.KEY_SIZE  # 32
CONDITION_BYTES = 64  # the padded length of a condition's label
SLOT_BLOCK_BYTES = 4096  # a slot's padded plan has a multiple of this length
RECORDS, RECORD_DIGESTS = b"happe records", b"happe digests"
TRACE_KEYS, MANIFESTS, PART_DIGESTS = (
    b"happe trace keys",
    b"happe manifests",
    b"happe parts",
)  # purposes of derived keys; at most 16 bytes each
DOCUMENT_BYTES = 512  # the padded length of a device's document
DOCUMENT_FORMAT = "happe-condition/1"
PUBLIC_KEY_BYTES = nacl.public.PublicKey.SIZE  # 32

_OVERHEAD = nacl.secret.Aead.NONCE_SIZE + nacl.secret.Aead.MACBYTES
_ANY_SCALAR = b"\x40" * 32


class SealError(Exception):
    """A seal does not open: it was made with another key or for another purpose, or is damaged."""


class TooLongError(Exception):
    """The content is longer than the fixed length."""


class PublicKeyError(Exception):
    """An unusable public key: of the wrong length, or one for which anybody could compute the shared secret."""


def seal_condition(key: bytes, run_code: str, condition: Condition) -> bytes:
    """A run's condition, sealed for the database."""
    return _seal(key, f"condition/{run_code}", condition.label.encode(), CONDITION_BYTES)


def open_condition(key: bytes, run_code: str, sealed: bytes) -> Condition:
    """Open a run's condition. Raises SealError if the seal is not this run's."""
    return Condition.of_label(_open(key, f"condition/{run_code}", sealed).decode())


def seal_seed(key: bytes, study: str, seed: bytes, salt: bytes) -> bytes:
    """A study's seed and salt, sealed for the database. Raises ValueError unless they have 32 bytes each."""
    if len(seed) != SECRET_BYTES or len(salt) != SECRET_BYTES:
        raise ValueError(f"seed and salt must have {SECRET_BYTES} bytes each")
    return _seal(key, f"seed/{study}", seed + salt, 2 * SECRET_BYTES + 1)


def open_seed(key: bytes, study: str, sealed: bytes) -> tuple[bytes, bytes]:
    """Open a study's seed and salt. Raises SealError if the seal is not this study's."""
    both = _open(key, f"seed/{study}", sealed)
    return both[:SECRET_BYTES], both[SECRET_BYTES:]


def seal_slot(key: bytes, place: tuple[str, str, int], slot: SlotPlan) -> bytes:
    """A slot's plan, sealed for the database. `place` is study, stratum, position.

    The slots of a study hold the same applications and conditions in different orders, so their seals have one length.
    """
    runs = [[run.application, run.condition.label] for run in slot]
    return _seal(key, _slot_name(place), json.dumps(runs, separators=(",", ":")).encode(), SLOT_BLOCK_BYTES, most=None)


def open_slot(key: bytes, place: tuple[str, str, int], sealed: bytes) -> SlotPlan:
    """Open a slot's plan. Raises SealError if the seal is not this slot's."""
    runs = json.loads(_open(key, _slot_name(place), sealed))
    return tuple(
        PlannedRun(position, application, Condition.of_label(label))
        for position, (application, label) in enumerate(runs, start=1)
    )


def seal_record(key: bytes, run_code: str, document: bytes, room: int) -> bytes:
    """A run's record, sealed for the database and padded to a multiple of `room` bytes."""
    return _seal(_derived(key, RECORDS), f"record/{run_code}", document, room, most=None)


def open_record(key: bytes, run_code: str, sealed: bytes) -> bytes:
    """Open a run's record. Raises SealError if the seal is not this run's."""
    return _open(_derived(key, RECORDS), f"record/{run_code}", sealed)


def record_digest(key: bytes, sha256: str) -> str:
    """The stored digest of a record's SHA-256. Without the key, nobody can compare it with a guessed record."""
    return hmac.digest(_derived(key, RECORD_DIGESTS), sha256.encode(), "sha256").hex()


def seal_trace_key(key: bytes, trace: str, trace_key: bytes) -> bytes:
    """The key of a power trace's parts, sealed for the database."""
    return _seal(_derived(key, TRACE_KEYS), f"trace/{trace}", trace_key, KEY_BYTES + 1)


def open_trace_key(key: bytes, trace: str, sealed: bytes) -> bytes:
    """Open the key of a power trace's parts. Raises SealError if the seal is not this trace's."""
    return _open(_derived(key, TRACE_KEYS), f"trace/{trace}", sealed)


def seal_manifest(key: bytes, trace: str, document: bytes, room: int) -> bytes:
    """A power trace's manifest, sealed for the database and padded to a multiple of `room` bytes."""
    return _seal(_derived(key, MANIFESTS), f"manifest/{trace}", document, room, most=None)


def open_manifest(key: bytes, trace: str, sealed: bytes) -> bytes:
    """Open a power trace's manifest. Raises SealError if the seal is not this trace's."""
    return _open(_derived(key, MANIFESTS), f"manifest/{trace}", sealed)


def part_digest(key: bytes, size: int, sha256: str) -> str:
    """The stored digest of a part's size and SHA-256. Without the key, nobody can compare it with a guessed part."""
    return hmac.digest(_derived(key, PART_DIGESTS), f"{size} {sha256}".encode(), "sha256").hex()


def check_public_key(public_key: bytes) -> None:
    """Raise PublicKeyError unless a device may have this X25519 key.

    A key of low order, such as the all-zero key, gives the shared secret zero with any scalar. libsodium refuses it.
    """
    if len(public_key) != PUBLIC_KEY_BYTES:
        raise PublicKeyError(f"has {len(public_key)} bytes, must have {PUBLIC_KEY_BYTES}")
    try:
        nacl.bindings.crypto_scalarmult(_ANY_SCALAR, public_key)
    except nacl.exceptions.RuntimeError:
        raise PublicKeyError("is of low order: anybody could open documents sealed to it") from None


def seal_for_device(public_key: bytes, document: Mapping[str, Any]) -> bytes:
    """A document as JSON of exactly 512 bytes, sealed to a device's X25519 key: 560 bytes.

    The member `pad` fills the JSON up. Raises PublicKeyError for an unusable key, TooLongError for a longer document.
    """
    check_public_key(public_key)
    body = json.dumps({**document, "pad": ""}, separators=(",", ":"))
    if len(body) > DOCUMENT_BYTES:
        raise TooLongError(f"has {len(body)} bytes, must have at most {DOCUMENT_BYTES}")
    padded = json.dumps({**document, "pad": "." * (DOCUMENT_BYTES - len(body))}, separators=(",", ":"))
    return nacl.public.SealedBox(nacl.public.PublicKey(public_key)).encrypt(padded.encode("ascii"))


def _derived(key: bytes, purpose: bytes) -> bytes:
    """A key derived from `key` for a purpose, by keyed and personalised BLAKE2b, as in libsodium's crypto_kdf."""
    return hashlib.blake2b(key=key, person=purpose, digest_size=KEY_BYTES).digest()


def _slot_name(place: tuple[str, str, int]) -> str:
    return "slot/" + json.dumps(place)


def _seal(key: bytes, name: str, plain: bytes, block: int, *, most: int | None = 1) -> bytes:
    """Nonce, cipher text and tag of `plain`, padded by at least a byte (ISO 7816-4) to at most `most` blocks."""
    padded: bytes = nacl.bindings.sodium_pad(plain, block)
    if most is not None and len(padded) > most * block:
        raise TooLongError(f"has {len(plain)} bytes, must have fewer than {most * block}")
    return bytes(nacl.secret.Aead(key).encrypt(padded, name.encode()))


def _open(key: bytes, name: str, sealed: bytes) -> bytes:
    if len(sealed) <= _OVERHEAD:
        raise SealError("is shorter than any seal")
    try:
        padded = nacl.secret.Aead(key).decrypt(sealed, name.encode())
    except nacl.exceptions.CryptoError:
        raise SealError("does not open: it was sealed with another key or for another purpose, or is damaged") from None
    plain: bytes = nacl.bindings.sodium_unpad(padded, len(padded))
    return plain
