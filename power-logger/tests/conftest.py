# SPDX-License-Identifier: GPL-2.0-or-later
"""Hypothesis without deadlines, a study server for tests, a host that it knows, and what goes to the disk when."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fake_study_server import TOKEN, FakeStudyServer
from happe_power.upload import identity
from happe_power.upload.identity import Identity

settings.register_profile("power-logger", deadline=None)  # the machine's load does not matter
settings.load_profile("power-logger")


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that sync a file or give it its name, in their order, each with the file's name."""
    found: list[str] = []

    def noted(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noting(file: int | Path, *more: Any) -> Any:  # noqa: ANN401 - as os has it
            place = Path(f"/proc/self/fd/{file}").readlink() if isinstance(file, int) else file
            found.append(f"{name} {place.name}")
            return call(file, *more)

        return noting

    for name in ("fsync", "fdatasync", "rename", "replace"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    return found


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
