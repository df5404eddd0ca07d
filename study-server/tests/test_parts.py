# SPDX-License-Identifier: GPL-2.0-or-later
"""A part's request header fields, and the frame of its file."""

import base64
import hashlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_study.study.traces.parts import (
    MOST_HEADER,
    BadHeaderError,
    content_digest,
    parquet_fault,
    require_if_none_match,
)

HELLO = hashlib.sha256(b"hello").digest()
TEXT = base64.b64encode(HELLO).decode()
SHA512 = base64.b64encode(hashlib.sha512(b"hello").digest()).decode()


@given(st.binary())
def test_a_digest_that_was_written_is_read(content: bytes) -> None:
    digest = hashlib.sha256(content).digest()
    assert content_digest(f"sha-256=:{base64.b64encode(digest).decode()}:") == digest


@pytest.mark.parametrize(
    "field",
    [
        f"sha-256=:{TEXT}:",
        f"  sha-256=:{TEXT}:\t",
        f"sha-512=:{SHA512}:, sha-256=:{TEXT}:",
        f"sha-256=:{TEXT}:,sha-512=:{SHA512}:",
        f"unixsum=:AAAA:, sha-256=:{TEXT}:",
        f"sha-256=:{base64.b64encode(bytes(32)).decode()}:, sha-256=:{TEXT}:",  # the last of two equal keys counts
    ],
)
def test_a_digest_is_found_among_others(field: str) -> None:
    assert content_digest(field) == HELLO


@pytest.mark.parametrize(
    ("field", "why"),
    [
        (None, "is missing"),
        ("", "malformed"),
        ("sha-256", "malformed"),
        (f"sha-256={TEXT}", "malformed"),
        (f"sha-256=:{TEXT}", "malformed"),
        (f"sha-256=:{TEXT}: sha-512=:{SHA512}:", "malformed"),
        (f"SHA-256=:{TEXT}:", "malformed"),
        (f"sha-256=:{TEXT[:-1]}:", "base64"),
        (f"sha-256=:{TEXT.replace('=', '')}:", "base64"),
        (f"sha-256=:{HELLO.hex()}:", "32 bytes"),
        (f"sha-512=:{SHA512}:", "no sha-256"),
        (f"sha-256=:{TEXT}:\r\nX-Evil: 1", "malformed"),
        (f"sha-256=:{'é' * 44}:", "malformed"),
        ("a=:AAAA:," * MOST_HEADER, "too long"),
    ],
)
def test_a_digest_that_cannot_be_used_is_refused_without_repeating_it(field: str | None, why: str) -> None:
    with pytest.raises(BadHeaderError, match=why) as caught:
        content_digest(field)
    assert TEXT[:10] not in str(caught.value)


@given(st.text())
def test_whatever_stands_in_a_digest_field_is_read_or_refused(field: str) -> None:
    try:
        content_digest(field)
    except BadHeaderError:
        return
    assert "sha-256=:" in field


@pytest.mark.parametrize("field", ["*", " * "])
def test_a_part_that_must_not_be_there_yet_may_be_put(field: str) -> None:
    require_if_none_match(field)


@pytest.mark.parametrize("field", [None, "", '"abc"', '*, "abc"', "**", 'W/"x"', '"*"'])
def test_a_part_that_might_be_replaced_may_not(field: str | None) -> None:
    with pytest.raises(BadHeaderError, match="If-None-Match"):
        require_if_none_match(field)


def whole_file() -> bytes:
    """A real Parquet file, as docs/uploads.md describes a part."""
    out = io.BytesIO()
    table = pa.table({"shunt": pa.array(range(-500, 500), pa.int16()), "supply": pa.array([7] * 1000, pa.int16())})
    pq.write_table(table, out, compression="zstd", use_dictionary=False, column_encoding="DELTA_BINARY_PACKED")
    return out.getvalue()


def fault_of(content: bytes) -> str | None:
    """The fault of a file with this content."""
    return parquet_fault(content)


def test_a_parquet_file_is_one() -> None:
    assert fault_of(whole_file()) is None


def test_a_parquet_file_cut_anywhere_is_none() -> None:
    content = whole_file()
    assert all(fault_of(content[:size]) for size in range(len(content)))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "fewer than 12"),
        (b"PAR1PAR1", "fewer than 12"),
        (b"PK\x03\x04" + bytes(20), "does not begin"),
        (b"PAR1" + bytes(20), "does not end"),
        (b"PAR1" + bytes(16) + b"PARE", "does not end"),
        (b"PARE" + bytes(16) + b"PARE", "does not begin"),
        (b"PAR1" + bytes(4) + b"PAR1", "impossible length"),
        (b"PAR1" + b"xxx" + (4).to_bytes(4, "little") + b"PAR1", "impossible length"),
        (b"PAR1" + b"xxx" + b"\xff\xff\xff\xff" + b"PAR1", "impossible length"),
    ],
)
def test_what_cannot_be_a_parquet_file_is_said_to_be_none(content: bytes, why: str) -> None:
    assert why in str(fault_of(content))
