# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures that the tests of the programs with windows share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_fixtures import happed, happed_program, shared_world, stopped, world
from private_bus import PrivateBus, private_bus

__all__ = ["happed", "happed_program", "shared_world", "stopped", "world"]  # fixtures


@pytest.fixture
def bus() -> Iterator[PrivateBus]:
    """A private bus, which is both the system's and the session's."""
    folder = Path(tempfile.mkdtemp(prefix="happe-bus-"))
    folder.chmod(0o755)
    with private_bus(folder) as running:
        yield running
    shutil.rmtree(folder)
