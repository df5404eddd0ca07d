# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the server that a request needs."""

from dataclasses import dataclass

from flask import current_app

from happe_study.base.config import Config, Secrets
from happe_study.base.database import Database


@dataclass(frozen=True)
class Parts:
    """The parts of which the application consists."""

    config: Config
    secrets: Secrets
    database: Database


def parts() -> Parts:
    """The parts of the application that answers this request."""
    found: Parts = current_app.extensions["happe"]
    return found
