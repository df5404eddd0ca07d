# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's record as the database stores it: compressed, padded, sealed to its run; and a digest under the server's key.

A record's content reveals its run's condition, and so does its size: compressed records of one application differ by a
few hundred bytes between conditions. So the padded size depends only on the number of samples.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from happe_contract.strict_json import Json
from happe_study.study.sealing import open_record, record_digest, seal_record

PAGE = 4096  # the room is a multiple of this
ONCE_BYTES = 2048  # for the compressed parts that a record has once
SAMPLE_BYTES = 16  # for a compressed sample of a CPU, which takes a third to a half of this


@dataclass(frozen=True)
class Stored:
    """A sealed record, and the digest that tells whether another record is the same."""

    document: bytes
    digest: str


def stored(key: bytes, run: str, raw: bytes, record: Json) -> Stored:
    """Seal a run's record under the server's allocation key. `raw` is the bytes sent, `record` their parsed JSON."""
    return Stored(sealed(key, run, raw, room(record)), record_digest(key, sha256(raw)))


def sealed(key: bytes, run: str, raw: bytes, least: int) -> bytes:
    """Compress and seal a run's record, in at least `least` bytes of room (doubled until the record fits)."""
    packed = pa.Codec("zstd").compress(raw, asbytes=True)
    while len(packed) >= least:
        least *= 2
    return seal_record(key, run, packed, least)


def opened(key: bytes, run: str, document: bytes) -> bytes:
    """Open a run's sealed record: the bytes that the laptop sent. Raises SealError."""
    with pa.CompressedInputStream(pa.BufferReader(open_record(key, run, document)), "zstd") as stream:
        content: bytes = stream.read()
    return content


def sha256(raw: bytes) -> str:
    """The SHA-256 of a record, in hexadecimal, as in the answer to the laptop."""
    return hashlib.sha256(raw).hexdigest()


def room(record: dict[str, Any]) -> int:
    """The room for a record's seal in bytes, which does not depend on its condition."""
    samples = sum(len(policy["util_ppm"]) for line in record["observations"] for policy in line["policies"])
    wanted = ONCE_BYTES + SAMPLE_BYTES * samples
    return -(-wanted // PAGE) * PAGE
