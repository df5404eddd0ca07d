# SPDX-License-Identifier: GPL-2.0-or-later
"""Hypothesis without deadlines, and a study server for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from fake_study_server import FakeStudyServer

if TYPE_CHECKING:
    from collections.abc import Iterator

settings.register_profile("power-logger", deadline=None)  # the machine's load does not matter
settings.load_profile("power-logger")


@pytest.fixture
def fake() -> Iterator[FakeStudyServer]:
    """A study server."""
    with FakeStudyServer() as running:
        yield running
