# SPDX-License-Identifier: GPL-2.0-or-later
"""The store that is an S3 bucket: `traces/UUID/NNNNN-SHA256.sealed`, each put once and never replaced.

A part's name has the digest of its sealed bytes, which are never the same twice. So whatever arrives late, a put or a
removal of a server that was killed, concerns that one upload and no other.
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
RETRY_SECONDS = 10  # after them a request answers 503, and a job waits


class Bucket(Storage):
    """A bucket of traces. `root` is a folder of this server's own, for parts that arrive."""

    def __init__(self, root: Path, settings: S3) -> None:
        """Ask nothing yet. Raises CredentialsError."""
        super().__init__(root)
        self._settings, self._known = settings, credentials(settings)

    def staging(self, trace: UUID) -> Path:  # noqa: ARG002 - one for all
        """One folder for all traces."""
        return self.root / STAGING

    def key(self, part: Part) -> str:
        """A name that no other upload has."""
        return f"{FOLDER}/{part.trace}/{part.number:05d}-{part.sha256}{SUFFIX}"

    def bring(self, part: Part, file: Path) -> None:
        """Put the object in one request, so that the bucket has all of it or nothing. It replaces no object."""
        with _answering(), file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                obstore.put(self._store, self.key(part), memoryview(content), mode="create", use_multipart=False)
            except AlreadyExistsError:
                return  # a request of ours whose answer was lost: the digest says that it is the same

    def keep(self, part: Part, file: Path) -> None:
        """See that the bucket still has it: a sweep may have removed it as the leftover of a killed server."""
        with _answering():
            try:
                size = obstore.head(self._store, self.key(part))["size"]
            except FileNotFoundError:
                raise AwayError("the part is not in the store any more") from None
        if size != file.stat().st_size:
            raise AwayError("the store has other bytes than it was sent")

    def open(self, part: Part) -> IO[bytes]:
        """Read it as it comes."""
        with _answering(may_miss=True):
            found = obstore.get(self._store, self.key(part))
            return io.BufferedReader(_Stream(found.stream(min_chunk_size=PIECE)), PIECE)

    def drop(self, key: str) -> None:
        """Delete the object."""
        self._delete([key])

    def remove(self, trace: UUID) -> None:
        """Delete every object of it."""
        self._delete([key for key, _size, _changed in self._listed(f"{FOLDER}/{trace}")])

    def traces(self) -> Iterator[UUID]:
        """The traces that have objects."""
        for name, _objects in groupby(self._listed(FOLDER), lambda each: each[0].split("/")[1]):
            try:
                yield UUID(name)
            except ValueError:
                continue

    def stored(self, trace: UUID) -> list[Stored]:
        """Its objects."""
        found = ((KEY.match(key), key, size, changed) for key, size, changed in self._listed(f"{FOLDER}/{trace}"))
        return [Stored(key, trace, int(match[2]), size, changed) for match, key, size, changed in found if match]

    def summary(self, part: Part) -> bytes:
        """Read the object beside the part."""
        with _answering(may_miss=True):
            return bytes(obstore.get(self._store, self._summary(part)).bytes())

    def keep_summary(self, part: Part, content: bytes) -> None:
        """Put it, whatever was there."""
        with _answering():
            obstore.put(self._store, self._summary(part), content, use_multipart=False)

    def fault(self) -> str | None:
        """Why this bucket can't be used, if so: it is asked to create an object once, not twice, and to delete it."""
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
        """Keys in their order, with sizes and times."""
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
    """One for a process, with its connections. Nobody may ask for one before a fork: it has threads."""
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
    """Turn what the store or the way to it says into AwayError, a line. `may_miss`: the object may not be there."""
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
        """It is."""
        return True

    def readinto(self, into: WriteableBuffer, /) -> int:
        """The next bytes; none at the end."""
        if not self._piece:
            with _answering():
                self._piece = memoryview(next(self._pieces, b""))
        room = memoryview(into).cast("B")
        size = min(len(room), len(self._piece))
        room[:size], self._piece = self._piece[:size], self._piece[size:]
        return size
