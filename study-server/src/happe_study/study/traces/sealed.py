# SPDX-License-Identifier: GPL-2.0-or-later
"""The seals of a power trace: of its parts, of their key, and until unblinding of its manifest.

A sealed part has a nonce (24 bytes), the cipher text, and a tag (16 bytes) of XChaCha20-Poly1305. Inside are the part's
size (8 bytes, little-endian), the part, and zeros up to a multiple of `room`. So the size depends only on the trace's
header, unless a part is longer than the header announces. Trace and number are authenticated: a part that was renamed
or cut short does not open.

A manifest reveals conditions: it has sizes and digests of parts, and gaps, which happen where power is high. The length
of its seal depends only on the number of parts, unless a trace has hundreds of gaps.
"""

import json
from dataclasses import dataclass, field

import nacl.exceptions
import nacl.secret
import nacl.utils
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_contract.parts import room
from happe_contract.rig import channels_of
from happe_contract.strict_json import Json
from happe_study.model.traces import Trace
from happe_study.study.sealing import (
    SealError,
    open_manifest,
    open_trace_key,
    part_digest,
    seal_manifest,
    seal_trace_key,
)
from happe_study.study.traces.storage import Storage

MANIFEST_ONCE, MANIFEST_PART = 16384, 512  # bytes of room for gaps and times, and for each part
KEY_BYTES = nacl.secret.Aead.KEY_SIZE
_SIZE = 8
_MORE = nacl.secret.Aead.NONCE_SIZE + _SIZE + nacl.secret.Aead.MACBYTES


@dataclass(frozen=True)
class Seal:
    """The seal of a part: its trace's key, its trace's id, and its number."""

    key: bytes = field(repr=False)
    trace: str
    number: int

    @property
    def _name(self) -> bytes:
        return f"part/{self.trace}/{self.number}".encode()

    def sealed(self, part: bytes, room: int) -> bytes:
        """A part, sealed and padded to a multiple of `room`."""
        padded = len(part).to_bytes(_SIZE, "little") + part + bytes(-len(part) % room)
        return bytes(nacl.secret.Aead(self.key).encrypt(padded, self._name))

    def opened(self, sealed: bytes) -> bytes:
        """The part in sealed bytes. Raises SealError."""
        try:
            padded = nacl.secret.Aead(self.key).decrypt(sealed, self._name)
        except (nacl.exceptions.CryptoError, ValueError):
            raise SealError("does not open: of another key, trace or number, damaged, or cut short") from None
        return padded[_SIZE : _SIZE + int.from_bytes(padded[:_SIZE], "little")]


def sealed_bytes(size: int, room: int) -> int:
    """The size in bytes of a sealed part of `size` bytes."""
    return _MORE + -(-size // room) * room


@dataclass(frozen=True)
class TraceFiles:
    """The store of all traces, and the server's allocation key, which opens them."""

    storage: Storage
    key: bytes = field(repr=False)


def new_trace_key(key: bytes, trace: str) -> bytes:
    """A key for the parts of a new trace, sealed under the server's allocation key."""
    return seal_trace_key(key, trace, nacl.utils.random(KEY_BYTES))


def seal_of(trace: Trace, number: int, key: bytes) -> Seal:
    """The seal of a part of a trace: its key and names. Raises SealError."""
    return Seal(open_trace_key(key, trace.client_id, trace.key_sealed), trace.client_id, number)


def part_room(header: Json, most: int) -> int:
    """The bytes to whose multiples the server pads a trace's parts, from the header, at most `most`."""
    row_bytes = sum(channel.dtype.itemsize for channel in channels_of(header))
    return min(room(header["rate_hz"], header["part_seconds"], row_bytes), most)


def listed_digests(key: bytes, manifest: Json) -> dict[int, str]:
    """The keyed digests of the parts that a manifest lists, by their numbers."""
    return {each["number"]: part_digest(key, each["bytes"], each["sha256"]) for each in manifest["parts"]}


def sealed_manifest(key: bytes, trace: str, document: Json) -> bytes:
    """Seal a manifest for the database."""
    raw = json.dumps(document, separators=(",", ":")).encode()
    least = MANIFEST_ONCE + MANIFEST_PART * len(document["parts"])
    return seal_manifest(key, trace, raw, least)


def open_manifests(session: Session, study_id: int, key: bytes) -> list[str]:
    """Open every manifest of a study at its unblinding. Returns the traces whose manifest does not open."""
    sealed = select(Trace.id).where(Trace.study_id == study_id, Trace.manifest_sealed.is_not(None))
    closed = []
    for number in session.scalars(sealed.order_by(Trace.id)).all():
        trace = session.get_one(Trace, number)
        try:
            trace.manifest, trace.manifest_sealed = manifest_of(trace, key), None
        except SealError:
            closed.append(trace.client_id)
        session.flush()
        session.expunge(trace)  # frees the memory: a manifest can have megabytes
    return closed


def manifest_of(trace: Trace, key: bytes) -> Json | None:
    """A trace's manifest, opened if it is sealed; None if it has none yet. Raises SealError."""
    if trace.manifest_sealed is None:
        return trace.manifest
    document: Json = json.loads(open_manifest(key, trace.client_id, trace.manifest_sealed))
    return document
