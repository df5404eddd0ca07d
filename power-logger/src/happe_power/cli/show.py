# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power show`."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_power.cli.host import Host, pass_host
from happe_power.cli.stretch import from_option, opened, to_option, trace_argument
from happe_power.viewing import curves, pictures

if TYPE_CHECKING:
    from happe_power.cli.moments import Moment
    from happe_power.trace import Trace

MORE = """TRACE is a folder, or the beginning of a trace's UUID in the spool. The line is the mean of each bin,
the band its lowest and highest sample. Gaps are marked, and no line crosses them. The picture says if there is
no valid calibration. Without a measured shunt there are no watts, and the command draws the shunt's voltage.

Examples:
  happe-power show 2b1e5a52
  happe-power show 2b1e5a52 --from 15m --to 17m --channel supply
  happe-power show 2b1e5a52 --png trace.png --dark"""
LEAST_COLUMNS, ROWS = 40, 20


@click.command(cls=Command, epilog=MORE)
@trace_argument
@from_option
@to_option
@click.option("--channel", metavar="NAME", help="Which channel, or watts  [watts, if there are any]")
@click.option("--png", type=click.Path(dir_okay=False, path_type=Path), help="Draw into this new file")
@click.option("--dark", is_flag=True, help="Light on dark")
@pass_host
def show(  # noqa: PLR0913 - click's
    host: Host,
    /,
    *,
    name: str,
    begin: Moment | None,
    until: Moment | None,
    channel: str | None,
    png: Path | None,
    dark: bool,
) -> None:
    """Draw a trace in the terminal, or as a picture."""
    trace, first, end = opened(host, name, begin, until)
    columns = max(shutil.get_terminal_size((100, ROWS)).columns, LEAST_COLUMNS)
    try:
        curve = curves.curve(trace, channel, first, end, points=curves.POINTS if png else 2 * columns)
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: {error}") from None
    title = _title(trace)
    if png is not None:
        pictures.save(curve, title, png, dark=dark)
        return
    theme = (pictures.DARK if dark else pictures.LIGHT) if sys.stdout.isatty() else pictures.PLAIN
    click.echo(pictures.terminal(curve, title, (columns, ROWS), theme))
    for note in (*curve.notes, curve.caption):
        click.echo(note)


def _title(trace: Trace) -> str:
    began = datetime.fromtimestamp(trace.started.realtime_us / 1e6, UTC)
    return f"{trace.header['study']} {trace.id[:8]}, {trace.header['source']['kind']}, {began:%Y-%m-%d %H:%M:%S} UTC"
