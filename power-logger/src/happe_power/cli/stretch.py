# SPDX-License-Identifier: GPL-2.0-or-later
"""The common options of show and export: a trace and a part of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from happe_cli.errors import Failure
from happe_power.cli.moments import MOMENT

if TYPE_CHECKING:
    from happe_power.cli.host import Host
    from happe_power.cli.moments import Moment
    from happe_power.trace import Trace

trace_argument = click.argument("name", metavar="TRACE")
from_option = click.option(
    "--from", "begin", type=MOMENT, help="Where it begins, as 15m after the first sample, or 10:30"
)
to_option = click.option("--to", "until", type=MOMENT, help="Where it ends, likewise")


def opened(host: Host, name: str, begin: Moment | None, until: Moment | None) -> tuple[Trace, int, int]:
    """A trace and the indices of a stretch of it. Raises Failure, TraceError."""
    from happe_power.trace import Trace
    from happe_power.viewing.stretch import between

    trace = Trace.open(host.trace(name))
    try:
        return trace, *between(trace, *(_after_s(trace, each) for each in (begin, until)))
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: {error}") from None


def _after_s(trace: Trace, moment: Moment | None) -> float | None:
    """Seconds after the first sample, by the server's time, or by this host's if the server's is unknown."""
    if moment is None or moment.after_s is not None:
        return None if moment is None else moment.after_s
    from happe_contract.measuring.refusal import Refusal
    from happe_power.figures import clocks_of

    clocks = clocks_of(trace)
    if isinstance(clocks, Refusal):
        clocks = clocks_of(trace, own_clock=True)
    if isinstance(clocks, Refusal):
        raise Failure(os.EX_DATAERR, f"refused ({clocks.why}): {clocks.detail}")
    first = trace.started.index
    return (clocks.server.monotonic_us(moment.at(clocks, first)) - clocks.samples.us(first)) / 1e6
