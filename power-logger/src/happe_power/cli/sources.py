# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power sources`."""

from __future__ import annotations

from dataclasses import asdict

import click

from happe_cli.commands import Command, json_option, print_json

MORE = """Each line is something that `record --source` can read here, or what is missing and the command that gets it.

Examples:
  happe-power sources
  happe-power sources --options        # what can be said of each kind
  happe-power sources --json | jq -r '.[] | select(.spec) | .spec'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--options", is_flag=True, help="Explain every option of every kind")
@json_option
def sources(options: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """What this machine can measure with, and what is missing."""
    from happe_power import sources as instruments

    if options:
        click.echo(instruments.help_text())
        return
    found = instruments.found()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    for each in found:
        click.echo(f"{each.spec or f'({each.kind})'}\n    {each.says}")
        if each.command:
            click.echo(f"    {each.command}")
