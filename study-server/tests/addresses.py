# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses in tests. Compiling the code of all routes takes werkzeug most of the time in which a server is made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from werkzeug.routing import Rule

Builder = Callable[..., tuple[str, str]]

SHIPPED: Callable[[Rule, bool], Builder] = Rule._compile_builder  # noqa: SLF001 - the one place where code is compiled


@contextmanager
def compiled_once() -> Iterator[None]:
    """Let servers that this process makes in the block share the code of routes that werkzeug compares as equal.

    The code gets its rule as an argument, so it contains nothing of one server.
    """
    known: dict[tuple[Any, ...], Builder] = {}

    def compile_builder(rule: Rule, append_unknown: bool = True) -> Builder:  # noqa: FBT001, FBT002 - werkzeug's
        key = (*rule._trace, rule.rule, repr(rule.defaults), append_unknown)  # noqa: SLF001 - the compared values
        if key not in known:
            known[key] = SHIPPED(rule, append_unknown)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "_compile_builder", compile_builder)
        yield
