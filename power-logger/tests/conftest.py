# SPDX-License-Identifier: GPL-2.0-or-later
"""Hypothesis without deadlines, a study server for tests, and a host that it knows."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from fake_study_server import TOKEN, FakeStudyServer
from happe_power.upload import identity
from happe_power.upload.identity import Identity

settings.register_profile("power-logger", deadline=None)  # the machine's load does not matter
settings.load_profile("power-logger")


@pytest.fixture
def enrolled(tmp_path: Path, fake: FakeStudyServer) -> Path:
    """The configuration of a host that is a meter of the study a."""
    identity.prepare(tmp_path / "state")
    identity.store(tmp_path / "state", Identity(fake.url, "M3TERAAA", "a", TOKEN))
    config = tmp_path / "p.toml"
    config.write_text('state = "state"\n')
    return config


@pytest.fixture
def fake() -> Iterator[FakeStudyServer]:
    """A study server."""
    with FakeStudyServer() as running:
        yield running
