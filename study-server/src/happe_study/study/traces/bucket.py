# SPDX-License-Identifier: GPL-2.0-or-later
"""Storage in an S3 bucket: objects `traces/UUID/NNNNN-SHA256.sealed`, each put once and never replaced.

An object's name contains the digest of its sealed bytes, which differ for every upload. So a late put or removal of a
killed server affects only that upload.

The object `owner.json` names the database whose servers may change the bucket. `_put` and `_delete`, which do all
changes, look at it first. A server's first change claims a bucket without parts. A restored server, or one whose bucket
another has taken over, only reads.
"""

from __future__ import annotations

import json
import secrets
import socket
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import UUID

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store

from happe_study.base.clock import now_us
from happe_study.base.identity import identity
from happe_study.base.s3 import AwayError, Credentials, NotOwnerError, credentials
from happe_study.study.traces.storage import NAME, Part, Storage, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from obstore import PutMode, PutResult
    from obstore.store import ClientConfig

    from happe_study.base.database import Database
    from happe_study.base.s3 import S3

FOLDER = "traces"
PROBE, OWNER = "check", "owner.json"
SURE_SECONDS = 2  # so soon a server notices that another has taken the bucket over
CONNECT, READ, WHOLE = timedelta(seconds=5), timedelta(seconds=60), timedelta(hours=1)  # how long a request may take
RETRIES = 2
RETRY_SECONDS = 10  # afterwards a request answers 503, and a job waits


@dataclass(frozen=True)
class Owner:
    """A bucket's owner: a database's identity, the machine that claimed the bucket, and when; the object's ETag."""

    database: str
    host: str
    since_us: int
    e_tag: str

    def __str__(self) -> str:
        """The owner, for people."""
        return (
            f"the server of another database ({self.host}, since {datetime.fromtimestamp(self.since_us / 1e6, UTC):%F})"
        )


class Bucket(Storage):
    """A bucket of traces. `root` is a folder of this server's disk, which stays empty."""

    def __init__(self, root: Path, settings: S3, database: Database) -> None:
        """Do not connect yet. Raises CredentialsError."""
        super().__init__(root)
        self._settings, self._known, self._database = settings, credentials(settings), database
        self._sure_until = 0.0  # of the monotonic clock

    @cached_property
    def identity(self) -> str:
        """The identity of this server's database."""
        return identity(self._database)

    def owner(self) -> Owner | None:
        """The bucket's owner; None if it has none."""
        try:
            with _answering(FileNotFoundError):
                found = obstore.get(self._store, OWNER)
                said, e_tag = bytes(found.bytes()), found.meta["e_tag"] or ""
        except FileNotFoundError:
            return None
        try:
            facts = json.loads(said)
            return Owner(str(facts["database"]), str(facts["host"]), int(facts["since_us"]), e_tag)
        except (ValueError, TypeError, KeyError):
            return Owner("", f"unknown, because {OWNER} is damaged", 0, e_tag)

    def require_owner(self) -> None:
        """Raise NotOwnerError unless this server's database owns the bucket. This claims a bucket without parts."""
        now = time.monotonic()
        if now < self._sure_until:
            return
        found = self.owner()
        if found is None and not any(self._listed(FOLDER)):
            with suppress(NotOwnerError):  # somebody else was faster
                self.take(None)
            found = self.owner()
        if found is None:
            raise NotOwnerError(f"{self._settings.address} has power traces but no {OWNER}, so no server may change it")
        if found.database != self.identity:
            raise NotOwnerError(f"{self._settings.address} belongs to {found}, so this server only reads it")
        self._sure_until = now + SURE_SECONDS

    def take(self, former: Owner | None) -> None:
        """Make this server's database the owner in place of `former`. NotOwnerError: somebody else did so meanwhile."""
        mode: PutMode = {"e_tag": former.e_tag} if former else "create"
        facts = {"database": self.identity, "host": socket.gethostname(), "since_us": now_us()}
        try:
            with _answering(AlreadyExistsError, PreconditionError):
                obstore.put(self._store, OWNER, json.dumps(facts).encode(), mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            raise NotOwnerError(f"{self._settings.address} got another owner meanwhile") from None

    def key(self, part: Part) -> str:
        """The object's name. No other upload has it."""
        return f"{FOLDER}/{part.trace}/{part.name}"

    def put(self, part: Part, content: bytes) -> None:
        """Put the object in one request. It replaces no object."""
        with suppress(AlreadyExistsError):  # an earlier request of ours, whose answer was lost; the digests are equal
            self._put(self.key(part), content, "create")

    def read(self, part: Part) -> bytes:
        """Get the object."""
        with _answering(FileNotFoundError):
            return bytes(obstore.get(self._store, self.key(part)).bytes())

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
        found = self._listed(f"{FOLDER}/{trace}")
        named = ((NAME.fullmatch(key.rpartition("/")[2]), key, size, changed) for key, size, changed in found)
        return [Stored(key, trace, int(match[1]), size, changed) for match, key, size, changed in named if match]

    def fault(self) -> str | None:
        """Why this bucket can't be used; None if it can. The test creates an object twice, and deletes it."""
        key = f"{PROBE}/{secrets.token_hex(16)}"
        versioned = self._put(key, b"happe", "create")["version"]
        try:
            self._put(key, b"other", "create")
            said: str | None = "it ignores If-None-Match, so two servers could replace each other's parts"
        except AlreadyExistsError:
            said = "it keeps versions, so erased data would stay" if versioned else None
        self._delete([key])
        return said

    def _listed(self, prefix: str) -> Iterator[tuple[str, int, float]]:
        """The keys in order, each with the object's size and its time of change."""
        with _answering():
            for page in obstore.list(self._store, prefix, chunk_size=1000):
                yield from ((each["path"], each["size"], each["last_modified"].timestamp()) for each in page)

    def _put(self, key: str, content: bytes, mode: PutMode) -> PutResult:
        """Put an object, if this server owns the bucket. Raises AlreadyExistsError in the mode "create"."""
        self.require_owner()
        with _answering(AlreadyExistsError):
            return obstore.put(self._store, key, content, mode=mode, use_multipart=False)

    def _delete(self, keys: list[str]) -> None:
        for key in keys:
            self.require_owner()
            with _answering():
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
def _answering(*expected: type[Exception]) -> Iterator[None]:
    """Turn errors of the store or the network into AwayError with one line, except those that the caller expects."""
    try:
        yield
    except expected:
        raise
    except BaseError as error:
        raise AwayError(f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:300]) from error
    except FileNotFoundError as error:
        raise AwayError("there is no such bucket") from error
