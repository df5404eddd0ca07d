# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording that runs beside the tests: a minute of sigrok's demo device, which is mostly waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

import sigrok_demo

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG = "sigrok_minute"

settings.register_profile("power-logger", deadline=None)  # the machine's load does not matter
settings.load_profile("power-logger")


@pytest.fixture(scope="session")
def sigrok_minute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sigrok_demo.Minute]:
    """The recording, which may not have ended."""
    minute = sigrok_demo.begin(tmp_path_factory.mktemp("sigrok"))
    with minute.process:
        yield minute
        minute.process.terminate()


@pytest.fixture(scope="session", autouse=True)
def _begun_early(request: pytest.FixtureRequest) -> None:
    """Start the recording before the first test of this folder, so that it has ended when a test needs it."""
    if any(LONG in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue(LONG)
