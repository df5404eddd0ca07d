# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power sources`."""

from __future__ import annotations

from dataclasses import asdict

import click

from happe_cli.commands import Command, json_option, print_json

MORE = """Lists what `record --source` can read on this machine. For each missing driver or package it prints the
command that installs it.

Examples:
  happe-power sources
  happe-power sources --options        # the options of each kind
  happe-power sources --json | jq -r '.[] | select(.spec) | .spec'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--options", is_flag=True, help="Explain every option of every kind")
@json_option
def sources(options: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """List the instruments of this machine, and missing drivers or packages."""
    from happe_power import sources as instruments

    if options:
        click.echo(instruments.help_text())
        return
    found = instruments.found()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    printed = set()
    for each in found:
        click.echo(f"{each.spec or f'({each.kind})'}\n    {each.says.removesuffix(f'; `{each.command}`')}")
        if each.command and each.command not in printed:
            click.echo(f"    {each.command}")
            printed.add(each.command)
    met = [f"{kind.name} with {', '.join(kind.tested_with)}" for kind in instruments.KINDS.loaded() if kind.tested_with]
    click.echo(f"Tested with real instruments: {'; '.join(met) or 'none of these kinds yet'}.")
