# SPDX-License-Identifier: GPL-2.0-or-later
"""Addresses in tests: werkzeug compiles code for each route of each server, which is most of what making one takes."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from werkzeug.routing import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Builder = Callable[..., tuple[str, str]]

SHIPPED: Callable[[Rule, bool], Builder] = Rule._compile_builder  # noqa: SLF001 - the one place where code is compiled


@contextmanager
def compiled_once() -> Iterator[None]:
    """Servers that are made in this process meanwhile share the code of routes that werkzeug holds for equal.

    The code gets its rule as an argument, so nothing of one server is in it.
    """
    known: dict[tuple[Any, ...], Builder] = {}

    def compile_builder(rule: Rule, append_unknown: bool = True) -> Builder:  # noqa: FBT001, FBT002 - werkzeug's
        key = (*rule._trace, rule.rule, repr(rule.defaults), append_unknown)  # noqa: SLF001 - what rules are compared by
        if key not in known:
            known[key] = SHIPPED(rule, append_unknown)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rule, "_compile_builder", compile_builder)
        yield
