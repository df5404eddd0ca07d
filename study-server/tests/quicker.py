# SPDX-License-Identifier: GPL-2.0-or-later
"""Servers of tests are quick: argon2 takes a tenth of a second and 64 MiB, and compiling routes most of a start."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from flask_security import core
from passlib.context import CryptContext
from werkzeug.routing import Rule

Builder = Callable[..., tuple[str, str]]

QUICK = {"argon2__memory_cost": 64, "argon2__time_cost": 1, "argon2__parallelism": 1}
PASSWORDS = core._get_pwd_context  # noqa: SLF001 - the one place where Flask-Security makes it
COMPILE: Callable[[Rule, bool], Builder] = Rule._compile_builder  # noqa: SLF001 - the one place where code is compiled


def hash_as_shipped(app: Flask) -> None:
    """Let a server hash passwords as strongly as outside of tests."""
    app.extensions["security"].pwd_context = PASSWORDS(app)


@contextmanager
def quick() -> Iterator[None]:
    """Let servers that this process makes in the block hash passwords weakly, and share the code of equal routes.

    The code gets its rule as an argument, so it contains nothing of one server.
    """
    known: dict[tuple[Any, ...], Builder] = {}

    def weak(app: Flask) -> CryptContext:
        return PASSWORDS(app).using(**QUICK)

    def compile_builder(rule: Rule, append_unknown: bool = True) -> Builder:  # noqa: FBT001, FBT002 - werkzeug's
        key = (*rule._trace, rule.rule, repr(rule.defaults), append_unknown)  # noqa: SLF001 - the compared values
        if key not in known:
            known[key] = COMPILE(rule, append_unknown)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "_get_pwd_context", weak)
        patch.setattr(Rule, "_compile_builder", compile_builder)
        yield
