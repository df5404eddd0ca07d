# SPDX-License-Identifier: GPL-2.0-or-later
"""Quick passwords in tests. The server's argon2 takes a tenth of a second and 64 MiB, and tests sign in often."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from flask import Flask
from flask_security import core
from passlib.context import CryptContext

QUICK = {"argon2__memory_cost": 64, "argon2__time_cost": 1, "argon2__parallelism": 1}
SHIPPED = core._get_pwd_context  # noqa: SLF001 - the one place where Flask-Security makes it


def make_as_shipped(app: Flask) -> None:
    """Let a server hash passwords as strongly as outside of tests."""
    app.extensions["security"].pwd_context = SHIPPED(app)


@contextmanager
def quick() -> Iterator[None]:
    """Let servers that this process makes in the block hash passwords weakly and quickly."""

    def weak(app: Flask) -> CryptContext:
        return SHIPPED(app).using(**QUICK)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "_get_pwd_context", weak)
        yield
