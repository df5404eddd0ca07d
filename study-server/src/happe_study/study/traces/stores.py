# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of power traces that the configuration names."""

from happe_study.base.config import Config, ConfigError
from happe_study.base.database import Database
from happe_study.base.s3 import CredentialsError
from happe_study.study.traces.storage import Folder, Storage


def storage_of(config: Config, database: Database) -> Storage:
    """The store of a server's traces that its configuration names, not connected yet. Raises ConfigError."""
    if config.s3 is None:
        return Folder(config.traces_folder)
    from happe_study.study.traces.bucket import Bucket  # noqa: PLC0415 - it takes 30 MB, which a folder saves

    try:
        return Bucket(config.traces_folder, config.s3, database)
    except CredentialsError as error:
        raise ConfigError(f"s3: {error}") from error
