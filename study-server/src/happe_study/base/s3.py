# SPDX-License-Identifier: GPL-2.0-or-later
"""An S3 store's address and the server's credentials for it: the section [s3] of the configuration."""

import configparser
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

OTHERS = 0o077
FIELDS = ("aws_access_key_id", "aws_secret_access_key")
SECTION = "default"


class AwayError(OSError):
    """The store does not answer, or not as S3 does. Whether it did what the server asked is unknown."""


class NotOwnerError(OSError):
    """The server does not own the bucket, so it changed nothing. The message names the owner."""


class CredentialsError(Exception):
    """There are no usable credentials. The message says what to do, and never repeats credentials."""


class S3(BaseModel):
    """A bucket; without `endpoint`, at Amazon. `credentials_file` has the format of ~/.aws/credentials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    endpoint: Annotated[str, Field(pattern=r"^https?://[^/?#@\s]+$")] | None = None
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")] = "us-east-1"
    credentials_file: Path | None = None

    @property
    def address(self) -> str:
        """The bucket's address, for messages."""
        return f"{self.endpoint or 's3:/'}/{self.bucket}"

    @property
    def not_in_backups(self) -> str:
        """What a backup lacks, and the command that copies it."""
        credentials = f"AWS_SHARED_CREDENTIALS_FILE={self.credentials_file} " if self.credentials_file else ""
        where = f"--region {self.region}" + (f" --endpoint-url {self.endpoint}" if self.endpoint else "")
        return (
            f"A backup has no power traces: their parts stay in the bucket {self.address}. "
            f"Copy them, too: {credentials}aws s3 sync {where} s3://{self.bucket}/traces FOLDER/traces"
        )


@dataclass(frozen=True)
class Credentials:
    """A key and its secret."""

    key: str
    secret: str = field(repr=False)


def credentials(settings: S3) -> Credentials:
    """The credentials from the configured file, else from the environment. Raises CredentialsError."""
    found = _in_file(settings.credentials_file) if settings.credentials_file else os.environ
    where = settings.credentials_file or "the environment"
    key, secret = (found.get(name if settings.credentials_file else name.upper(), "") for name in FIELDS)
    if not key or not secret:
        names = FIELDS if settings.credentials_file else tuple(name.upper() for name in FIELDS)
        raise CredentialsError(f"{where}: {names[0]} and {names[1]} must be there")
    return Credentials(key, secret)


def _in_file(path: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        mode = path.stat().st_mode & 0o777
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise CredentialsError(f"{path}: {error.strerror}") from error
    except (configparser.Error, UnicodeDecodeError):
        raise CredentialsError(f"{path}: is not in the format of ~/.aws/credentials") from None
    if mode & OTHERS:
        raise CredentialsError(f"{path}: others can read it (mode {mode:03o}); chmod 600 it")
    return dict(parser[SECTION]) if parser.has_section(SECTION) else {}
