# SPDX-License-Identifier: GPL-2.0-or-later
"""What show, export and replay have in common: which trace, and which stretch of it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from happe_cli.errors import Failure

if TYPE_CHECKING:
    from happe_power.cli.host import Host
    from happe_power.trace import Trace

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Offset(click.ParamType[float]):
    """Seconds since a trace's first sample: 90, 12.5s, 15m, 2h."""

    name = "time"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:  # noqa: ANN401 - click's
        """The seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        if not found:
            self.fail(f"{value}: say 90, 12.5s, 15m or 2h since the first sample", parameter, context)
        return float(found[1]) * UNITS[found[2]]


trace_argument = click.argument("name", metavar="TRACE")
from_option = click.option("--from", "from_s", type=Offset(), help="From so long after the first sample")
to_option = click.option("--to", "to_s", type=Offset(), help="Up to so long after the first sample")


def opened(host: Host, name: str, from_s: float | None, to_s: float | None) -> tuple[Trace, int, int]:
    """A trace and the indices of a stretch of it. Raises Failure, TraceError."""
    from happe_power.trace import Trace
    from happe_power.viewing.stretch import between

    trace = Trace.open(host.trace(name))
    try:
        return trace, *between(trace, from_s, to_s)
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: {error}") from None
