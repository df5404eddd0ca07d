# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures with the real happed and its bus. A conftest.py imports them by their names."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from happed_world import Happed, World, running_world
from program import ROOT


@pytest.fixture(scope="session")
def happed_program() -> Path:
    """Return the program that HAPPED names, or the one that `make build` made."""
    program = Path(os.environ.get("HAPPED", ROOT / "build/bin/happed")).absolute()
    if not program.is_file():
        pytest.fail(f"{program} is missing: `make build` makes it, and HAPPED may name another")
    return program


@pytest.fixture(scope="session")
def shared_world() -> Iterator[World]:
    """A bus with logind and polkit for all tests: they take long to start."""
    with running_world() as world:
        yield world


@pytest.fixture
def world(shared_world: World) -> World:
    """A bus on which I am at the machine, and polkit allows nothing."""
    shared_world.as_before()
    return shared_world


@pytest.fixture
def stopped(happed_program: Path, world: World, tmp_path: Path) -> Iterator[Happed]:
    """happed, not yet started; it observes."""
    daemon = Happed(happed_program, world, tmp_path)
    yield daemon
    daemon.close()
    if (tmp_path / "log").exists():
        print(daemon.log)  # pytest shows it if the test fails


@pytest.fixture
def happed(stopped: Happed) -> Happed:
    """happed, observing."""
    return stopped.start()
