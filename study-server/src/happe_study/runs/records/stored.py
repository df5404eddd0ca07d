# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's record as the database keeps it: compressed, padded, sealed to its run; and a digest under the server's key.

A record reveals the condition of its run by its content, and by its size. Compressed, those of one application differ
by a few hundred bytes with the condition. So how much room a seal has follows from the number of samples alone.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from happe_study.design.allocation.sealing import open_record, record_digest, seal_record

if TYPE_CHECKING:
    from happe_contract.strict_json import Json

PAGE = 4096  # room is a multiple of this
ONCE_BYTES = 2048  # for what a record has once, compressed
SAMPLE_BYTES = 16  # for a sample of a CPU, compressed: twice to three times what it takes


@dataclass(frozen=True)
class Stored:
    """A sealed record, and what tells whether another is the same."""

    document: bytes
    digest: str


def stored(key: bytes, run: str, raw: bytes, record: Json) -> Stored:
    """The record of a run, as it was sent and as read, under the server's allocation key."""
    return Stored(sealed(key, run, raw, room(record)), record_digest(key, sha256(raw)))


def sealed(key: bytes, run: str, raw: bytes, least: int) -> bytes:
    """A record of a run as it was sent, sealed, with at least so much room."""
    packed = pa.Codec("zstd").compress(raw, asbytes=True)
    while len(packed) >= least:
        least *= 2
    return seal_record(key, run, packed, least)


def opened(key: bytes, run: str, document: bytes) -> bytes:
    """A record of a run as it was sent. Raises SealError."""
    with pa.CompressedInputStream(pa.BufferReader(open_record(key, run, document)), "zstd") as stream:
        content: bytes = stream.read()
    return content


def sha256(raw: bytes) -> str:
    """What the device is answered."""
    return hashlib.sha256(raw).hexdigest()


def room(record: dict[str, Any]) -> int:
    """How much room a record gets, whatever its condition is."""
    samples = sum(len(policy["util_ppm"]) for line in record["observations"] for policy in line["policies"])
    wanted = ONCE_BYTES + SAMPLE_BYTES * samples
    return -(-wanted // PAGE) * PAGE
