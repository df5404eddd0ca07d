# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of power traces (docs/uploads.md, A part): checks of an upload, and reading a stored part's columns.

The file is sealed, so the server opens the part in memory.

Sources: RFC 9530 (Content-Digest), RFC 8941 (its syntax), RFC 9110 section 13.1.2 (If-None-Match), Parquet's own page
(github.com/apache/parquet-format, File format).
"""

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from happe_contract.parts import BadPartError, Footer, footer_in
from happe_study.base.s3 import AwayError
from happe_study.study.sealing import SealError
from happe_study.study.traces.sealed import Seal
from happe_study.study.traces.storage import Part, Storage

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


ROWS_AT_ONCE = 1 << 18
TYPES = {"int16": "int16", "int32": "int32", "int64": "int64", "float32": "float", "float64": "double"}


def opened(storage: Storage, part: Part, seal: Seal) -> pa.Buffer:
    """Open a part from its sealed file. Raises BadPartError, AwayError."""
    try:
        return pa.py_buffer(seal.opened(storage.read(part)))
    except AwayError:
        raise
    except OSError as error:
        raise BadPartError(f"part {seal.number} can't be read: {error.strerror}") from error
    except SealError as error:
        raise BadPartError(f"part {seal.number} {error}") from error


def footer_of_part(part: pa.Buffer, trace: str, number: int) -> Footer:
    """Read the footer of a part. Raises BadPartError if it names another trace or number, or can't be read."""
    try:
        found = footer_in(pa.BufferReader(part))
    except OSError as error:
        raise BadPartError(f"part {number} can't be read: {type(error).__name__}") from error
    except BadPartError as error:
        raise BadPartError(f"part {number} can't be read: {error}"[:200]) from error
    if (found.trace, found.number) != (trace, number):
        raise BadPartError(f"part {number} claims to be part {found.number!r} of trace {found.trace!r}"[:200])
    return found


def samples(
    part: pa.Buffer, number: int, columns: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, tuple[NDArray[np.generic], ...]]]:
    """Read columns (name, dtype) of a part in pieces, each with the number of its first row. Raises BadPartError."""
    try:
        with pq.ParquetFile(pa.BufferReader(part)) as file:
            _require_columns(file.schema_arrow, number, columns)
            row = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=[name for name, _dtype in columns]):
                yield row, tuple(batch.column(name).to_numpy(zero_copy_only=False) for name, _dtype in columns)
                row += batch.num_rows
    except (OSError, pa.ArrowException, ValueError) as error:
        raise BadPartError(f"part {number} can't be read: {type(error).__name__}") from error


def cut(footer: Footer, row: int, rows: int, wanted: tuple[int, int]) -> Iterator[tuple[int, slice]]:
    """Cut the wanted indices (from, up to) out of a part's rows from `row` on: first index, rows in the piece."""
    start = 0
    for first, many in footer.runs:
        low = max(row, start, start + wanted[0] - first)
        high = min(row + rows, start + many, start + wanted[1] - first)
        if low < high:
            yield first + low - start, slice(low - row, high - row)
        start += many


def _require_columns(schema: pa.Schema, number: int, columns: Sequence[tuple[str, str]]) -> None:
    for name, dtype in columns:
        at = schema.get_field_index(name)
        if at < 0 or str(schema.field(at).type) != TYPES[dtype]:
            raise BadPartError(f"part {number} has no column {name} of {dtype}")
