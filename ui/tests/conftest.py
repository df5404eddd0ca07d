# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of the programs with windows share."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_world import Happed, World, running_world
from private_bus import PrivateBus, private_bus
from program import ROOT


@pytest.fixture
def bus() -> Iterator[PrivateBus]:
    """A bus of the test's own, which is the system's and the session's."""
    folder = Path(tempfile.mkdtemp(prefix="happe-bus-"))
    folder.chmod(0o755)
    with private_bus(folder) as running:
        yield running
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shared_world() -> Iterator[World]:
    """A bus with logind and polkit for all tests: they take long to start."""
    with running_world() as running:
        yield running


@pytest.fixture
def world(shared_world: World) -> World:
    """I am at the machine, and polkit allows nothing."""
    shared_world.as_before()
    return shared_world


@pytest.fixture
def happed(world: World, tmp_path: Path) -> Iterator[Happed]:
    """The real happed, observing."""
    daemon = Happed(Path(os.environ.get("HAPPED", ROOT / "build/bin/happed")).absolute(), world, tmp_path)
    yield daemon.start()
    daemon.close()
