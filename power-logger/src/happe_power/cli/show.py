# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power show`."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_power import plot
from happe_power.cli.host import Host, pass_host
from happe_power.cli.moments import from_option, opened, to_option, trace_argument

if TYPE_CHECKING:
    from happe_power.cli.moments import Moment
    from happe_power.trace import Trace

MORE = """TRACE is a folder, or the beginning of a trace's UUID in the spool. The line is the mean of each bin,
the band its lowest and highest sample. Gaps are marked, and no line crosses them. The picture says if there is
no valid calibration. Without a measured shunt there are no watts, and the command draws the first channel. The
file's suffix is the format: .png or .svg. The command overwrites no file.

Examples:
  happe-power show 2b1e5a52 trace.png
  happe-power show 2b1e5a52 trace.svg --from 15m --to 17m"""
SUFFIXES = (".png", ".svg")


@click.command(cls=Command, epilog=MORE)
@trace_argument
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@from_option
@to_option
@pass_host
def show(host: Host, /, *, name: str, file: Path, begin: Moment | None, until: Moment | None) -> None:
    """Draw a trace as a picture."""
    if file.suffix.lower() not in SUFFIXES:
        raise Failure(os.EX_USAGE, f"{file}: a picture's name ends with .png or .svg")
    trace, first, end = opened(host, name, begin, until)
    plot.save(trace, plot.curve(trace, first, end), _title(trace), file)


def _title(trace: Trace) -> str:
    began = datetime.fromtimestamp(trace.started.realtime_us / 1e6, UTC)
    return f"{trace.header['study']} {trace.id[:8]}, {trace.header['source']['kind']}, {began:%Y-%m-%d %H:%M:%S} UTC"
