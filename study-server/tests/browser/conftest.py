# SPDX-License-Identifier: GPL-2.0-or-later
"""The same browsers for all tests with a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from serve import browsers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def start() -> Iterator[Callable[[str], Browser]]:
    """A function that returns the browser of a name, the same one each time."""
    with browsers() as start:
        yield start


@pytest.fixture(scope="session")
def browser(start: Callable[[str], Browser]) -> Browser:
    """A Chromium, in which every test opens its own windows."""
    return start("chromium")


@pytest.fixture(scope="session", params=["chromium", "firefox"])
def either(request: pytest.FixtureRequest, start: Callable[[str], Browser]) -> Browser:
    """Each browser in turn."""
    return start(request.param)
