# SPDX-License-Identifier: GPL-2.0-or-later
"""A screen, a study server and a laptop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import desktop
from study_wizard import Laptop, Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from desktop import X11
    from happed_world import Happed


@pytest.fixture
def screen(request: pytest.FixtureRequest) -> Iterator[X11]:
    """A screen, with openbox or the window manager that the test names."""
    with desktop.x11(getattr(request, "param", "openbox")) as shown:
        yield shown


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A study server that accepts runs as short as two seconds."""
    made = Server(tmp_path / "server", least_share_of_run=0.9)
    yield made
    made.close()


@pytest.fixture
def laptop(tmp_path: Path, screen: X11, server: Server, stopped: Happed) -> Iterator[Laptop]:
    """A laptop, not yet enrolled."""
    made = Laptop(tmp_path / "laptop", screen, stopped.world.bus, server.url)
    yield made
    made.close()
    if (made.folder / "log").exists():
        print(made.log)
