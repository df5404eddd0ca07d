# SPDX-License-Identifier: GPL-2.0-or-later
"""The same browser for all tests with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from serve import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium, in which every test opens its own windows."""
    with chromium() as started:
        yield started
