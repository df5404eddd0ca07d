# SPDX-License-Identifier: GPL-2.0-or-later
"""Storage in an S3 bucket: objects `traces/UUID/NNNNN-SHA256.sealed`, each put once and never replaced.

An object's name contains the digest of its sealed bytes, which differ for every upload. So a late put or removal of a
killed server affects only that upload.
"""

from __future__ import annotations

import io
import mmap
import re
import secrets
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from itertools import groupby
from typing import IO, TYPE_CHECKING
from uuid import UUID

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from happe_study.base.s3 import AwayError, Credentials, credentials
from happe_study.evidence.traces.storage import PIECE, SUFFIX, Part, Storage, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _typeshed import WriteableBuffer
    from obstore import BytesStream
    from obstore.store import ClientConfig

    from happe_study.base.s3 import S3

FOLDER, STAGING, SUMMARY = "traces", "arriving", ".watts"
KEY = re.compile(rf"^{FOLDER}/([0-9a-f-]{{36}})/([0-9]{{5,9}})-[0-9a-f]{{64}}{re.escape(SUFFIX)}$")
PROBE = "check"
CONNECT, READ, WHOLE = timedelta(seconds=5), timedelta(seconds=60), timedelta(hours=1)  # how long a request may take
RETRIES = 2
RETRY_SECONDS = 10  # afterwards a request answers 503, and a job waits


class Bucket(Storage):
    """A bucket of traces. `root` is a folder on this server for arriving parts."""

    def __init__(self, root: Path, settings: S3) -> None:
        """Do not connect yet. Raises CredentialsError."""
        super().__init__(root)
        self._settings, self._known = settings, credentials(settings)

    def staging(self, trace: UUID) -> Path:  # noqa: ARG002 - one for all
        """The folder for arriving parts, the same for all traces."""
        return self.root / STAGING

    def key(self, part: Part) -> str:
        """The object's name. No other upload has it."""
        return f"{FOLDER}/{part.trace}/{part.number:05d}-{part.sha256}{SUFFIX}"

    def bring(self, part: Part, file: Path) -> None:
        """Put the object in one request, so that the bucket has all of it or nothing. It replaces no object."""
        with _answering(), file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                obstore.put(self._store, self.key(part), memoryview(content), mode="create", use_multipart=False)
            except AlreadyExistsError:
                return  # an earlier request of ours succeeded, but its answer was lost; the digest proves equal bytes

    def keep(self, part: Part, file: Path) -> None:
        """Check that the bucket still has the object: a sweep may have taken it for a killed server's leftover."""
        with _answering():
            try:
                size = obstore.head(self._store, self.key(part))["size"]
            except FileNotFoundError:
                raise AwayError("the part is not in the store any more") from None
        if size != file.stat().st_size:
            raise AwayError("the store has other bytes than it was sent")

    def open(self, part: Part) -> IO[bytes]:
        """Open the object for reading while it arrives."""
        with _answering(may_miss=True):
            found = obstore.get(self._store, self.key(part))
            return io.BufferedReader(_Stream(found.stream(min_chunk_size=PIECE)), PIECE)

    def drop(self, key: str) -> None:
        """Delete the object."""
        self._delete([key])

    def remove(self, trace: UUID) -> None:
        """Delete every object of the trace."""
        self._delete([key for key, _size, _changed in self._listed(f"{FOLDER}/{trace}")])

    def traces(self) -> Iterator[UUID]:
        """The traces that have objects."""
        for name, _objects in groupby(self._listed(FOLDER), lambda each: each[0].split("/")[1]):
            try:
                yield UUID(name)
            except ValueError:
                continue

    def stored(self, trace: UUID) -> list[Stored]:
        """The trace's objects."""
        found = ((KEY.match(key), key, size, changed) for key, size, changed in self._listed(f"{FOLDER}/{trace}"))
        return [Stored(key, trace, int(match[2]), size, changed) for match, key, size, changed in found if match]

    def summary(self, part: Part) -> bytes:
        """Read the summary's object, which lies beside the part's."""
        with _answering(may_miss=True):
            return bytes(obstore.get(self._store, self._summary(part)).bytes())

    def keep_summary(self, part: Part, content: bytes) -> None:
        """Put the summary's object, replacing an older one."""
        with _answering():
            obstore.put(self._store, self._summary(part), content, use_multipart=False)

    def fault(self) -> str | None:
        """Why this bucket can't be used; None if it can. The test creates an object twice, and deletes it."""
        key = f"{PROBE}/{secrets.token_hex(16)}"
        with _answering():
            versioned = obstore.put(self._store, key, b"happe", mode="create", use_multipart=False)["version"]
            try:
                obstore.put(self._store, key, b"other", mode="create", use_multipart=False)
                said: str | None = "it ignores If-None-Match, so two servers could replace each other's parts"
            except AlreadyExistsError:
                said = "it keeps versions, so erased data would stay" if versioned else None
            obstore.delete(self._store, key)
        return said

    def _summary(self, part: Part) -> str:
        return self.key(part).removesuffix(SUFFIX) + SUMMARY

    def _listed(self, prefix: str) -> Iterator[tuple[str, int, float]]:
        """The keys in order, each with the object's size and its time of change."""
        with _answering():
            for page in obstore.list(self._store, prefix, chunk_size=1000):
                yield from ((each["path"], each["size"], each["last_modified"].timestamp()) for each in page)

    def _delete(self, keys: list[str]) -> None:
        with _answering():
            for key in keys:
                obstore.delete(self._store, key)

    @property
    def _store(self) -> S3Store:
        return _connected(self._settings.bucket, self._settings.endpoint, self._settings.region, self._known)


@lru_cache(maxsize=4)
def _connected(bucket: str, endpoint: str | None, region: str, known: Credentials) -> S3Store:
    """The process's client with its connections. It has threads, so never make it before a fork."""
    client: ClientConfig = {"connect_timeout": CONNECT, "read_timeout": READ, "timeout": WHOLE}
    client["allow_http"] = bool(endpoint and endpoint.startswith("http:"))
    return S3Store(
        bucket,
        endpoint=endpoint or f"https://s3.{region}.amazonaws.com",
        region=region,
        access_key_id=known.key,
        secret_access_key=known.secret,
        virtual_hosted_style_request=False,
        client_options=client,
        retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_SECONDS)},
    )


@contextmanager
def _answering(*, may_miss: bool = False) -> Iterator[None]:
    """Turn errors of the store or the network into AwayError with one line. `may_miss`: let FileNotFoundError pass."""
    try:
        yield
    except BaseError as error:
        raise AwayError(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:300]) from error
    except FileNotFoundError as error:
        if may_miss:
            raise
        raise AwayError("there is no such bucket") from error


class _Stream(io.RawIOBase):
    """An object's bytes as a file."""

    def __init__(self, pieces: BytesStream) -> None:
        self._pieces, self._piece = pieces, memoryview(b"")

    def readable(self) -> bool:
        """Always True."""
        return True

    def readinto(self, into: WriteableBuffer, /) -> int:
        """Read the next bytes into a buffer. Returns their number, 0 at the end."""
        if not self._piece:
            with _answering():
                self._piece = memoryview(next(self._pieces, b""))
        room = memoryview(into).cast("B")
        size = min(len(room), len(self._piece))
        room[:size], self._piece = self._piece[:size], self._piece[size:]
        return size
