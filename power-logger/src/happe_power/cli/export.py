# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power export` and `happe-power show`."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_power import plot
from happe_power.cli.host import Host, from_option, opened, pass_host, to_option, trace_argument

if TYPE_CHECKING:
    from happe_power.cli.host import Moment
    from happe_power.trace import Trace

STANDARD_OUTPUT = "-"
FORMATS = ("csv", "npz", "parquet", "h5", "xdf")
MORE = """The columns are the index, the seconds since the first sample, each channel in its unit at the
instrument's input (shunt_V, supply_V), and watts if the trace has a calibration. With --raw the channels are
the instrument's counts. Lost samples have no row. Parquet, HDF5 and XDF carry units, gaps and the trace's
header. HDF5 needs h5py. The command overwrites no file.

Examples:
  happe-power export 2b1e5a52 trace.csv --from 15m --to 17m
  happe-power export 2b1e5a52 trace.npz --raw
  happe-power export 2b1e5a52 - | head"""


@click.command(cls=Command, epilog=MORE)
@trace_argument
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="The file's format  [by its name; csv if that has no suffix]"
)
@from_option
@to_option
@click.option("--raw", is_flag=True, help="The instrument's counts")
@pass_host
def export(  # noqa: PLR0913 - click's
    host: Host,
    /,
    *,
    name: str,
    file: Path,
    form: str | None,
    begin: Moment | None,
    until: Moment | None,
    raw: bool,
) -> None:
    """Write samples of a trace as CSV, NPZ, Parquet, HDF5 or XDF."""
    from happe_power import tables

    chosen = form or _by_name(file)
    trace, first, end = opened(host, name, begin, until)
    table = tables.Table(trace, first, end, raw=raw)
    for note in table.notes:
        click.echo(f"happe-power: {note}", err=True)
    if str(file) != STANDARD_OUTPUT:
        with tables.new_file(file) as out:
            tables.WRITERS[chosen](table, out)
        return
    if chosen != FORMATS[0]:
        raise Failure(os.EX_USAGE, f"{chosen} is not written to standard output; name a file")
    table.write_csv(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _by_name(file: Path) -> str:
    """The format that a file's name stands for. Raises Failure for an unknown one."""
    found = file.suffix.removeprefix(".").lower() or FORMATS[0]
    if found not in FORMATS:
        known = ", ".join(f".{form}" for form in FORMATS)
        raise Failure(
            os.EX_USAGE,
            f"{file}: {file.suffix} is not a format of `happe-power export`; there are {known}, and --format names one",
        )
    return found


SHOW_MORE = """TRACE is a folder, or the beginning of a trace's UUID in the spool. The line is the mean of each bin,
the band its lowest and highest sample. Gaps are marked, and no line crosses them. The picture says if there is
no valid calibration. Without a measured shunt there are no watts, and the command draws the first channel. The
file's suffix is the format: .png or .svg. The command overwrites no file.

Examples:
  happe-power show 2b1e5a52 trace.png
  happe-power show 2b1e5a52 trace.svg --from 15m --to 17m"""
SUFFIXES = (".png", ".svg")


@click.command(cls=Command, epilog=SHOW_MORE)
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
