# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests share."""

import os
from pathlib import Path

import pytest

from program import ROOT, HappeSim


@pytest.fixture(scope="session")
def happe_sim() -> HappeSim:
    """Return the program that HAPPE_SIM names, else the one `make build` leaves."""
    return HappeSim(Path(os.environ.get("HAPPE_SIM", ROOT / "build/bin/happe-sim")).absolute())
