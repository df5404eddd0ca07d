# SPDX-License-Identifier: GPL-2.0-or-later
"""The program `happe-power` in this process."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from happe_power.cli.program import main

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - JSON is of any type
        """Its standard output, read."""
        return json.loads(self.out)


def happe_power(*arguments: str | Path) -> Ran:
    """Run `happe-power`."""
    with CliRunner().isolation() as (out, err, _both):
        try:
            main([str(each) for each in arguments])
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        return Ran(int(status or 0), out.getvalue().decode(), err.getvalue().decode())
