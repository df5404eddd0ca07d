# SPDX-License-Identifier: GPL-2.0-or-later
"""One Chromium for all tests with a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from serve import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium, which every test opens windows of its own in."""
    with chromium() as started:
        yield started
