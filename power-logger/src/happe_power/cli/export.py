# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power export`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_power.cli.host import Host, pass_host
from happe_power.cli.stretch import from_option, opened, to_option, trace_argument

STANDARD_OUTPUT = "-"
FORMATS = ("csv", "npz")
MORE = """Columns are index, seconds since the first sample, and each channel in its unit at the instrument's input
(shunt_V, supply_V), with watts if the trace's calibration gives them. With --raw the channels are the
instrument's counts. Samples that were lost have no row. No file is written over.

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
    from_s: float | None,
    to_s: float | None,
    raw: bool,
) -> None:
    """Write samples of a trace as CSV or NPZ."""
    from happe_power.viewing.tables import Table, new_file

    chosen = form or _by_name(file)
    trace, first, end = opened(host, name, from_s, to_s)
    table = Table(trace, first, end, raw=raw)
    for note in table.notes:
        click.echo(f"happe-power: {note}", err=True)
    if str(file) != STANDARD_OUTPUT:
        with new_file(file) as out:
            (table.write_csv if chosen == FORMATS[0] else table.write_npz)(out)
        return
    if chosen != FORMATS[0]:
        raise Failure(os.EX_USAGE, "an NPZ file is not written to standard output; name a file")
    table.write_csv(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _by_name(file: Path) -> str:
    """The format that a file's name says. Failure if it says one that is not known."""
    found = file.suffix.removeprefix(".").lower() or FORMATS[0]
    if found not in FORMATS:
        known = " and ".join(f".{form}" for form in FORMATS)
        raise Failure(
            os.EX_USAGE,
            f"{file}: {file.suffix} is no format of `happe-power export`; it has {known}, and --format names one",
        )
    return found
