# SPDX-License-Identifier: GPL-2.0-or-later
"""One browser for all tests, and a server for those of a file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from callers import LIMITS
from serve import WorldServer, chromium
from world import World, sqlite_copy


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A Chromium, in which every test opens its own windows."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldServer]:
    """An empty server on a port."""
    folder = tmp_path_factory.mktemp("served")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=LIMITS)
    with WorldServer(world) as made:
        yield made
    world.close()
