# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs in Python, run in the test's own process."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    status: int
    out: str
    err: str

    def json(self) -> Any:  # noqa: ANN401 - JSON is of any type
        """Return its standard output as JSON."""
        return json.loads(self.out)


def run(main: Callable[[list[str]], object], *arguments: object, typed: str = "") -> Ran:
    """Run a program, which ends by SystemExit. `typed` is its standard input."""
    with CliRunner().isolation(input=typed) as (out, err, _both):
        try:
            main([str(each) for each in arguments])
        except SystemExit as end:
            status = end.code
        sys.stdout.flush()
        return Ran(int(status or 0), out.getvalue().decode(), err.getvalue().decode())
