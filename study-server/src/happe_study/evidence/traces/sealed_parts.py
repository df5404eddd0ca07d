# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of a power trace as a file that only the server's key opens: libsodium's secretstream, in chunks.

The stream's header (24 bytes), then chunks of 256 KiB, each with 17 bytes more: a tag of its kind and its
authentication. Inside: the part's size (8 bytes, little-endian), the part, zeros up to a multiple of `room`. So the
file's size follows from the trace's header, unless a part is longer than its header announces. Trace and number are
authenticated with each chunk: a file under another name does not open, nor one that was cut short.
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
    """What a part is sealed by and to: its trace's key, its trace's id, its number."""

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
        """The part in a file, a chunk at a time. Raises SealError, OSError."""
        yield from _opened(file, self.key, self._name)

    def whole(self, file: IO[bytes]) -> bytearray:
        """The part in a file. Raises SealError, OSError."""
        found = bytearray()
        for piece in self.read(file):
            found += piece
        return found


class Writing:
    """A part on its way into a file. `sha256` and `bytes` are of what the file has."""

    def __init__(self, file: IO[bytes], key: bytes, name: bytes, size: int, room: int) -> None:
        """Write the stream's header. Raises OSError, as every other method."""
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
        """Of the file so far, in hexadecimal."""
        return self._digest.hexdigest()

    def add(self, piece: bytes) -> None:
        """Write the next bytes of the part."""
        self._left -= len(piece)
        self._put(piece)

    def end(self) -> None:
        """Write the padding, and that this is all. ValueError: the part is not as long as was reported."""
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
    """How long the file of a part of `size` bytes is."""
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
    """Raises SealError unless the file is the whole of what was sealed."""
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
