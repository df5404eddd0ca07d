# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power zero`."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_contract.calibration import from_header
from happe_contract.measuring.zeros import HAVE_A_ZERO, checks_of, read_zero, readings_of
from happe_power.cli.host import Host, pass_host
from happe_power.cli.moments import from_option, opened, to_option, trace_argument
from happe_power.recording import zero_check
from happe_power.trace import TraceError

if TYPE_CHECKING:
    from happe_contract.measuring.zeros import ZeroReading
    from happe_power.cli.moments import Moment
    from happe_power.trace import Trace

MORE = """Takes a stretch of a trace in which the laptop was off, or the inputs were shorted, as a zero check. This
gives zero checks to a recording by a service and to an imported file: leave the laptop off for ten seconds at
the beginning and at the end. The check is stored beside the trace. A check of the same stretch replaces it.

Examples:
  happe-power zero 2b1e5a52 --from 0s --to 10s
  happe-power zero 2b1e5a52 --from 18:00 --to 18:00:10"""


@click.command(cls=Command, epilog=MORE)
@trace_argument
@from_option
@to_option
@pass_host
def zero(host: Host, /, *, name: str, begin: Moment | None, until: Moment | None) -> None:
    """Take a stretch of a trace, with the laptop off, as a zero check."""
    if begin is None or until is None:
        raise click.UsageError("--from and --to name the stretch in which the laptop was off")
    trace, first, end = opened(host, name, begin, until)
    if trace.manifest is None:
        raise Failure(
            os.EX_TEMPFAIL, f"{trace.folder}: the recording is still in progress; try again when it has ended"
        )
    made = _read(trace, first, end)
    document = _kept(trace)
    old = [each for each in readings_of(document["during"]) if (each.channel, each.at_us) not in _places(made)]
    during = sorted([*old, *made], key=lambda each: each.at_us)
    before, after = (readings_of(document[when]) for when in ("before", "after"))
    zero_check.store(trace.folder, before, after, during)
    for verdict in checks_of([*before, *during, *after], from_header(trace.calibration)).verdicts.values():
        click.echo(f"{verdict.checks} zero check{'s' if verdict.checks > 1 else ''}: {verdict.says}")


def _read(trace: Trace, first: int, end: int) -> list[ZeroReading]:
    """The readings of a stretch. Raises Failure, TraceError."""
    columns = [column for column, each in enumerate(trace.channels) if each.measures in HAVE_A_ZERO]
    if not columns:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: none of its channels has a zero to check")
    blocks = list(trace.blocks(first, end))
    if sum(block.rows for block in blocks) < 2:  # noqa: PLR2004 - one sample has no spread
        raise Failure(os.EX_DATAERR, f"{trace.folder}: fewer than two samples lie between these times")
    at_us = trace.started.monotonic_us + round((first - trace.started.index) * 1e6 / trace.rate_hz)
    return [read_zero(trace.channels[column], column, blocks, at_us) for column in columns]


def _places(readings: list[ZeroReading]) -> set[tuple[str, int]]:
    return {(each.channel, each.at_us) for each in readings}


def _kept(trace: Trace) -> dict[str, Any]:
    """The checks that the trace's folder already has. Raises TraceError."""
    path = trace.folder / zero_check.NAME
    nothing: dict[str, Any] = {"before": [], "during": [], "after": []}
    try:
        kept: dict[str, Any] = json.loads(path.read_bytes())
        return nothing | kept
    except FileNotFoundError:
        return nothing
    except (ValueError, TypeError) as error:
        raise TraceError(f"{path}: this file has no zero readings: {error!r}") from None
