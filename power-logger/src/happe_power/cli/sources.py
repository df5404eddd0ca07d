# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power sources`, and the value of the option --source: a TOML file whose table names a source."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from happe_cli.commands import Command, json_option, print_json
from happe_power import sources as instruments
from happe_power.sources.spec import Spec
from happe_power.toml_files import TomlFile, written

MORE = """Lists what `record` can read on this machine, each as a table for a file that --source names, or for
[record.source] in the configuration. For each missing driver or package it prints the command that installs it.

Examples:
  happe-power sources
  happe-power sources --options        # a table of each kind with all options
  happe-power sources --json | jq '.[] | select(.table) | .table'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--options", is_flag=True, help="Print a table of each kind with every option")
@json_option
def sources(options: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """List the instruments of this machine, and missing drivers or packages."""
    if options:
        click.echo(instruments.help_text())
        return
    found = instruments.found()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    printed = set()
    for each in found:
        click.echo(f"# {each.kind}: {each.says.removesuffix(f'; `{each.command}`')}")
        if each.command and each.command not in printed:
            click.echo(f"#     {each.command}")
            printed.add(each.command)
        click.echo(f"{written(each.table)}\n" if each.table else "")
    met = [
        f"{kind.name} with {', '.join(kind.tested_with)}" for kind in instruments.kinds().values() if kind.tested_with
    ]
    click.echo(f"# Tested with real instruments: {'; '.join(met) or 'none of these kinds yet'}.")


class SourceFile(click.ParamType[Spec]):
    """A file with the table of a source; also a table of the configuration that was already checked."""

    name = "file"

    def convert(self, value: Any, _parameter: click.Parameter | None, _context: click.Context | None) -> Spec:  # noqa: ANN401 - click's
        """The checked table. Raises SpecError, TomlFileError, OSError."""
        return value if isinstance(value, Spec) else read(Path(value))


def read(path: Path) -> Spec:
    """The source that a file names. Raises TomlFileError and SpecError, which name the line, and OSError."""
    file = TomlFile(path.read_bytes(), str(path))
    return instruments.named(file.data, file.said)
