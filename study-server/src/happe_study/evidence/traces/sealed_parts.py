# SPDX-License-Identifier: GPL-2.0-or-later
"""Sealed files of the parts of power traces, which only the server's key opens: libsodium's secretstream, in chunks.

A file has the stream's header (24 bytes), then chunks of 256 KiB, each with 17 more bytes: a tag for the chunk's kind
and its authentication. The chunks contain the part's size (8 bytes, little-endian), the part, and zeros up to a
multiple of `room`. So the file's size depends only on the trace's header, unless a part is longer than the header
announces. Each chunk authenticates trace and number: a renamed or shortened file does not open.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

import nacl.bindings
import nacl.exceptions

from happe_cli.disk import write_all
from happe_study.design.allocation.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY_BYTES = nacl.bindings.crypto_secretstream_xchacha20poly1305_KEYBYTES
CHUNK = 1 << 18
_HEADER = nacl.bindings.crypto_secretstream_xchacha20poly1305_HEADERBYTES
_MORE = nacl.bindings.crypto_secretstream_xchacha20poly1305_ABYTES
_MESSAGE = nacl.bindings.crypto_secretstream_xchacha20poly1305_TAG_MESSAGE
_FINAL = nacl.bindings.crypto_secretstream_xchacha20poly1305_TAG_FINAL
_SIZE = 8


@dataclass(frozen=True)
class Seal:
    """The seal of a part: its trace's key, its trace's id, and its number."""

    key: bytes = field(repr=False)
    trace: str
    number: int

    @property
    def _name(self) -> bytes:
        return f"part/{self.trace}/{self.number}".encode()

    def writing(self, file: IO[bytes], size: int, room: int) -> Writing:
        """Write a part of `size` bytes into an empty file, padded to a multiple of `room`."""
        return Writing(file, self.key, self._name, size, room)

    def read(self, file: IO[bytes]) -> Iterator[bytes]:
        """Open the part in a file, a chunk at a time. Raises SealError, OSError."""
        yield from _opened(file, self.key, self._name)

    def whole(self, file: IO[bytes]) -> bytearray:
        """Open the whole part in a file. Raises SealError, OSError."""
        found = bytearray()
        for piece in self.read(file):
            found += piece
        return found


class Writing:
    """Seals a part into a file. `sha256` and `bytes` describe the file so far."""

    def __init__(self, file: IO[bytes], key: bytes, name: bytes, size: int, room: int) -> None:
        """Write the stream's header. Raises OSError, as all methods do."""
        self._file, self._name = file, name
        self._state = nacl.bindings.crypto_secretstream_xchacha20poly1305_state()
        self._left = size
        self._padding = -size % room
        self._waiting = bytearray(size.to_bytes(_SIZE, "little"))
        self._digest = hashlib.sha256()
        self.bytes = 0
        self._write(nacl.bindings.crypto_secretstream_xchacha20poly1305_init_push(self._state, key))

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file so far, in hexadecimal."""
        return self._digest.hexdigest()

    def add(self, piece: bytes) -> None:
        """Write the next bytes of the part."""
        self._left -= len(piece)
        self._put(piece)

    def end(self) -> None:
        """Write the padding and the final chunk. Raises ValueError if the part's size was not as announced."""
        if self._left:
            raise ValueError(f"the part has {-self._left} bytes more than announced")
        while self._padding:
            step = min(self._padding, CHUNK)
            self._padding -= step
            self._put(bytes(step))
        self._push(bytes(self._waiting), _FINAL)

    def _put(self, piece: bytes) -> None:
        self._waiting += piece
        while len(self._waiting) > CHUNK:
            self._push(bytes(self._waiting[:CHUNK]), _MESSAGE)
            del self._waiting[:CHUNK]

    def _push(self, chunk: bytes, tag: int) -> None:
        push = nacl.bindings.crypto_secretstream_xchacha20poly1305_push
        self._write(push(self._state, chunk, self._name, tag))

    def _write(self, sealed: bytes) -> None:
        write_all(self._file, sealed)
        self._digest.update(sealed)
        self.bytes += len(sealed)


def sealed_bytes(size: int, room: int) -> int:
    """The size in bytes of the sealed file of a part of `size` bytes."""
    inside = _SIZE + -(-size // room) * room
    return _HEADER + inside + _MORE * -(-inside // CHUNK)


def _opened(file: IO[bytes], key: bytes, name: bytes) -> Iterator[bytes]:
    left: int | None = None
    for chunk in _chunks(file, key, name):
        if left is None:
            left, chunk = int.from_bytes(chunk[:_SIZE], "little"), chunk[_SIZE:]  # noqa: PLW2901 - what follows the size
        if left:
            piece = chunk[:left]
            left -= len(piece)
            yield piece


def _chunks(file: IO[bytes], key: bytes, name: bytes) -> Iterator[bytes]:
    """Open the chunks of a file. Raises SealError if the file is damaged, cut short, or has data after its end."""
    state = nacl.bindings.crypto_secretstream_xchacha20poly1305_state()
    try:
        nacl.bindings.crypto_secretstream_xchacha20poly1305_init_pull(state, file.read(_HEADER), key)
        tag = _MESSAGE
        while tag != _FINAL:
            sealed = file.read(CHUNK + _MORE)
            chunk, tag = nacl.bindings.crypto_secretstream_xchacha20poly1305_pull(state, sealed, name)
            if tag == _FINAL and file.read(1):
                raise SealError("has data after its end")
            yield chunk
    except (nacl.exceptions.CryptoError, ValueError):
        raise SealError("does not open: sealed with another key or as another part, damaged, or cut short") from None
