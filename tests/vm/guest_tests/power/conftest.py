# SPDX-License-Identifier: GPL-2.0-or-later
"""An instrument of the kernel: comedi's simulated board."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.power_logger import PACKAGES
from t61.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, str(PACKAGES))  # numpy and pyarrow, to look into traces with


@pytest.fixture(scope="session")
def comedi() -> Iterator[str]:
    """The simulated board of the module comedi_test: /dev/comedi0."""
    subprocess.run(["modprobe", "-a", "comedi", "comedi_test"], check=True)
    wait_until(Path("/dev/comedi0").exists, "the board is there")
    yield "/dev/comedi0"
    subprocess.run(["modprobe", "-r", "comedi_test"], check=True)
