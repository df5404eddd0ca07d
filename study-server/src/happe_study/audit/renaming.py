# SPDX-License-Identifier: GPL-2.0-or-later
"""A run record under other codes, for a participant whose data stay without saying whose they are. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

FREE_TEXT = ("notes",)  # what the experimenter wrote may name people


@dataclass(frozen=True)
class Stored:
    """A document as the database keeps it: zstd of its JSON, and the SHA-256 of the JSON in hexadecimal."""

    document: bytes
    sha256: str


def unpacked(document: bytes) -> bytes:
    """The JSON of a stored document (Zstandard, RFC 8878)."""
    with pa.CompressedInputStream(pa.BufferReader(document), "zstd") as stream:
        content: bytes = stream.read()
    return content


def packed(content: bytes) -> Stored:
    """JSON as it is stored."""
    document = pa.Codec("zstd").compress(content, asbytes=True)
    return Stored(document, hashlib.sha256(content).hexdigest())


def renamed(document: bytes, names: Mapping[str, str]) -> Stored:
    """A stored record in which each of `names` is replaced wherever it stands, without what was written by hand."""
    record = json.loads(unpacked(document))
    for field in FREE_TEXT:
        record.pop(field, None)
    return packed(json.dumps(_renamed(record, names), separators=(",", ":"), ensure_ascii=False).encode())


def _renamed(node: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON is of any type
    if isinstance(node, dict):
        return {_renamed(name, names): _renamed(child, names) for name, child in node.items()}
    if isinstance(node, list):
        return [_renamed(child, names) for child in node]
    if isinstance(node, str):
        for name, other in names.items():
            node = node.replace(name, other)
    return node
