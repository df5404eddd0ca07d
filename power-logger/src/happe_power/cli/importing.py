# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power import`: shows what a file of another program has, asks, and records it as a trace."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_power import sources
from happe_power.cli.host import Host, pass_host
from happe_power.cli.record import Wanted, carry_out, trace_options
from happe_power.sources.clock import SystemClock
from happe_power.sources.file import KIND, OWN, File, make, shown
from happe_power.sources.spec import COMMON
from happe_power.toml_files import written

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_power.sources.spec import Option

MORE = """Reads text in columns, whatever its delimiter, decimal mark, quotes, encoding, header and times, and refuses
what cannot be. It prints the table of a source, then one sentence, and asks. After a yes it makes a trace, as
`record` does. An option replaces a guess; for a list repeat it: --units mV --units V. Without a terminal --yes
says yes. Without a yes it imports nothing, and `record --source` can take the table later.

Examples:
  happe-power import rig.csv --measured 1APT0PAA
  happe-power import log.txt --zone Europe/Berlin --dates dmy --study try-out --no-upload
  happe-power import rig.csv --json | jq .rows
  happe-power import rig.csv --yes --study try-out --no-upload --bandwidth 160"""


def guess_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each option of a table."""
    for option in reversed((*KIND.options, *COMMON)):
        command = click.option(f"--{option.name.replace('_', '-')}", **_typed(option))(command)
    return command


def _typed(option: Option) -> dict[str, Any]:
    listed = option.schema.get("type") == "array"
    one = option.schema["items"] if listed else option.schema
    kind = {"number": float, "integer": int}.get(one.get("type", ""), str)
    choice = click.Choice(list(map(str, one["enum"]))) if "enum" in one else kind
    return {"type": choice, "multiple": listed, "default": None, "help": option.says.removeprefix("a list of ")}


@click.command("import", cls=Command, epilog=MORE)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@guess_options
@trace_options
@click.option("--yes", is_flag=True, help="Import without a question")
@json_option
@pass_host
@click.pass_context
def import_(context: click.Context, host: Host, /, file: str, yes: bool, as_json: bool, **typed: Any) -> None:  # noqa: ANN401, FBT001 - click's options
    """Bring a file of another program into a trace, after a look at it."""
    names = [*OWN, *(option.name for option in COMMON)]
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in typed.items() if name in names}
    table = {"kind": KIND.name, "place": file} | {
        name: value for name, value in given.items() if value not in (None, [])
    }
    source = make(sources.named(table), SystemClock())
    source.start(0)
    document = preview(source)
    table |= {name: source.table[name] for name in OWN if name in source.table and name != "range"}
    says = document["says"]
    if as_json:
        click.echo(json.dumps({"says": says, "table": table} | document, ensure_ascii=False))
    else:
        click.echo(f"{written(table)}\n# {says}")
        for note in source.notes:
            click.echo(f"happe-power: {note}", err=True)
    if not document["rows"]:
        raise Failure(os.EX_DATAERR, f"{file}: has no row that can be used")
    if not yes and not (sys.stdin.isatty() and not as_json and click.confirm("Right?", err=True)):
        if as_json:
            return
        raise Failure(EX_CHECK_FAILED, "nothing is imported; --yes imports it")
    chosen = {name: value for name, value in typed.items() if name not in names}
    carry_out(context, host, Wanted(source=sources.named(table), as_json=as_json, no_zero_check=True, **chosen))


def preview(source: File) -> dict[str, Any]:
    """What a file has, as a document whose `says` is a sentence for people."""
    found, lost = source.survey, dict(source.survey.lost)
    began = None if found.began_us is None or "started" in source.table else shown(found.began_us)
    channels = [
        {"name": channel.name, "unit": channel.unit, "lowest": low, "highest": high}
        for channel, low, high in zip(source.channels, found.lows.tolist(), found.highs.tolist(), strict=True)
        if found.rows
    ]
    parts = [f"{found.rows:,} rows, {found.seconds:,.6g} s at {source.rate_hz:g} S/s"]
    if lost:
        parts.append(f"{sum(lost.values()):,} lost ({', '.join(f'{count:,} {why}' for why, count in lost.items())})")
    for each in channels:
        name = "" if len(channels) == 1 else f"{each['name']} "
        parts.append(f"{name}{each['lowest']:.4g} to {each['highest']:.4g} {each['unit']}")
    begins = began or source.table.get("started")
    parts.append(f"begins {begins}" if begins else "ends now")
    zone = " (the file names no zone)" if source.zoneless else ""
    return {
        "says": f"{', '.join(parts)}{zone}: right?",
        "rows": found.rows,
        "lost": lost,
        "seconds": found.seconds,
        "rate_hz": source.rate_hz,
        "begins": began,
        "channels": channels,
    }
