# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power calibrate` and `happe-power zero`."""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option, print_json, print_table
from happe_cli.errors import Failure
from happe_contract.calibration import Calibration, ShuntLine, SupplyTap, Wiring
from happe_contract.measuring.zeros import checks_of
from happe_contract.traces import Measures, Quantity
from happe_power import calibration
from happe_power.cli.host import Host, from_option, opened, pass_host, to_option, trace_argument
from happe_power.cli.sources import SourceFile
from happe_power.known_load import Load, LoadError, Readings, outcome
from happe_power.recording import zero_check
from happe_power.recording.files import write_whole
from happe_power.sources import make
from happe_power.toml_files import TomlFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_contract.measuring.zeros import ZeroReading
    from happe_contract.traces import Channel
    from happe_power.cli.host import Moment
    from happe_power.sources.source import Source
    from happe_power.trace import Trace

MORE = """A record needs two readings. For the first, short every input: it gives each channel's zero and noise.
For the second, put a known resistor in the laptop's place, and measure its voltage with a multimeter.
It gives the shunt's resistance, the divider's ratio, and the gain of a channel in amperes or watts. U
is one standard uncertainty (k = 1); for a multimeter's limits +-L, give U = L / 1.73.

In a terminal the command waits for Enter before each reading. A script gives --no-wait, and --load-source if
the second reading comes from another source. --no-load makes a record with zeros only.

Examples:
  happe-power calibrate --source comedi.toml rig-1.toml --name "rig 1, November" \\
      --shunt-line return --supply-measured before --load-ohm 10.021 0.003 --load-volt 19.432 0.004
  happe-power calibrate --source scpi.toml meter.toml --name "meter 3" --no-load"""

SHORTED = 0.01  # of a channel's range, several times the offset that data sheets of acquisition boards allow
MEASURED = frozenset(Measures) - {Measures.MARKER}


def _sure(
    _context: click.Context, _parameter: click.Parameter, pair: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Raise BadParameter for a value that can't be measured."""
    if pair is not None and not (0 < pair[0] < math.inf and 0 <= pair[1] < pair[0]):
        raise click.BadParameter(f"{pair[0]:g} {pair[1]:g}: must be more than 0, and U less than that")
    return pair


PAIR: dict[str, Any] = {"type": float, "nargs": 2, "callback": _sure}


@click.command(cls=Command, epilog=MORE)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--source", type=SourceFile(), required=True, help="The instrument's TOML file, as for `record`")
@click.option("--load-source", type=SourceFile(), help="The instrument for the reading under load  [--source]")
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10.0, show_default=True, help="How long to read")
@click.option("--name", required=True, help="The name of the record, for example `rig 1, November`")
@click.option(
    "--days", type=click.IntRange(1, 3660), default=365, show_default=True, help="How long the record is valid"
)
@click.option(
    "--shunt-line", type=click.Choice([each.value for each in ShuntLine]), help="The line that the shunt is in"
)
@click.option(
    "--supply-measured", type=click.Choice([each.value for each in SupplyTap]), help="Before the shunt or after it"
)
@click.option("--load-ohm", **PAIR, metavar="OHM U", help="The measured resistance, with U")
@click.option("--load-volt", **PAIR, metavar="VOLT U", help="The voltage across the resistor, by a multimeter")
@click.option("--instrument", help="The multimeter that measured both; the record names it")
@click.option("--no-load", is_flag=True, help="Measure only the zeros")
@click.option("--no-wait", is_flag=True, help="Do not wait for Enter")
@click.option("--force", is_flag=True, help="Overwrite an existing record")
@json_option
def calibrate(file: Path, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """Measure zeros and a known load, and write a calibration record."""
    waits = not chosen["no_wait"] and somebody_is_there()
    if file.exists() and not chosen["force"]:
        raise Failure(os.EX_CANTCREAT, f"{file}: exists already; --force overwrites it")
    source = make(chosen["source"])
    wiring = _wiring(chosen, source.channels)
    load = None if chosen["no_load"] else Load(*(_quantity(chosen, name) for name in ("load_ohm", "load_volt")))
    measured = [each for each in source.channels if each.measures in MEASURED]
    ready("Short every input. (If no channel measures the supply, you can switch the laptop off instead.)", waits=waits)
    zeros = _readings(source, chosen["seconds"])
    _require_shorted(measured, zeros)
    loads = {}
    if load:
        ready("Put the resistor in the laptop's place.", waits=waits)
        loads = _readings(make(chosen["load_source"]) if chosen["load_source"] else source, chosen["seconds"])
    both = [Readings(each, zeros[each.name], loads.get(each.name)) for each in measured]
    record = _record(chosen["name"], wiring, both, load, chosen["days"])
    _write(file, record)
    _show(file, record, both, as_json=chosen["as_json"])


def somebody_is_there() -> bool:
    """Whether a person can answer."""
    return sys.stdin.isatty()


def ready(what: str, *, waits: bool) -> None:
    """Ask a person to do something, and wait for Enter."""
    if waits:
        click.prompt(f"{what} Then press Enter", default="", show_default=False, prompt_suffix="", err=True)


def _given(chosen: dict[str, Any], name: str) -> Any:  # noqa: ANN401 - click's types
    if chosen[name] is None:
        raise click.UsageError(f"--{name.replace('_', '-')} is missing")
    return chosen[name]


def _wiring(chosen: dict[str, Any], channels: Sequence[Channel]) -> Wiring | None:
    """How the rig is wired, if it has a shunt."""
    if not any(each.measures is Measures.SHUNT for each in channels):
        return None
    return Wiring(ShuntLine(_given(chosen, "shunt_line")), SupplyTap(_given(chosen, "supply_measured")))


def _quantity(chosen: dict[str, Any], name: str) -> Quantity:
    what = {"load_ohm": "resistor in ohm", "load_volt": "volts over the resistor"}[name]
    value, uncertainty = _given(chosen, name)
    return Quantity(value, uncertainty, f"{what}, {chosen['instrument'] or 'instrument not named'}")


def _readings(source: Source, seconds: float) -> dict[str, ZeroReading]:
    """The reading of each channel over some seconds. Raises SourceError, Failure."""
    try:
        return {each.channel: each for each in zero_check.take(source, seconds, MEASURED)}
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{source.device}: {error}") from None


def _require_shorted(channels: Sequence[Channel], zeros: dict[str, ZeroReading]) -> None:
    """Raise Failure if a channel reads so much that nobody has shorted its input."""
    for each in channels:
        full = abs(each.highest * each.scale + each.offset) if each.highest is not None else math.inf
        if abs(mean := zeros[each.name].mean) > SHORTED * full:
            raise Failure(
                os.EX_DATAERR,
                f"{each.name}: {mean:.3g} {each.unit} is too far from zero for an input that is shorted; "
                "short every input and try again",
            )


def _record(
    name: str, wiring: Wiring | None, readings: Sequence[Readings], load: Load | None, days: int
) -> Calibration:
    try:
        found = outcome(readings, load, wiring)
    except LoadError as error:
        raise Failure(os.EX_DATAERR, str(error)) from None
    today = dt.datetime.now(dt.UTC).date()
    return Calibration(
        name=name,
        sha256="",
        date=today,
        expires=today + dt.timedelta(days=days),
        wiring=wiring,
        **found._asdict(),
    )


def _write(file: Path, record: Calibration) -> None:
    """Write a record, after a check that `parse` accepts it. Raises OSError, Failure."""
    content = calibration.to_toml(record).encode()
    try:
        calibration.parse(content, str(file))
    except TomlFileError as error:
        raise Failure(os.EX_DATAERR, *str(error).splitlines()) from None
    write_whole(file, content)


def _show(file: Path, record: Calibration, readings: Sequence[Readings], *, as_json: bool) -> None:
    shown = record.to_header() | {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    if as_json:
        print_json({"file": str(file), "record": shown})
        return
    rows: list[tuple[object, ...]] = [("", "value", "u (k = 1)")]
    rows += [
        _row(f"zero of {each.channel.name}, {each.channel.unit}", record.channels[each.channel.name].zero)
        for each in readings
    ]
    named = ((name, getattr(record, name)) for name in ("shunt_ohm", "divider"))
    rows += [_row(name, quantity) for name, quantity in named if quantity]
    print_table(rows)
    click.echo(f"{file}: record {record.name}, until {record.expires}")


def _row(name: str, quantity: Quantity) -> tuple[object, ...]:
    return name, f"{quantity.value:.6g}", f"{quantity.standard_uncertainty:.2g}"


ZERO_MORE = """Takes a stretch of a trace in which the laptop was off, or the inputs were shorted, as a zero check. This
gives zero checks to a recording by a service and to an imported file: leave the laptop off for ten seconds at
the beginning and at the end. The check is stored beside the trace. A check of the same stretch replaces it.

Examples:
  happe-power zero 2b1e5a52 --from 0s --to 10s
  happe-power zero 2b1e5a52 --from 18:00 --to 18:00:10"""


@click.command(cls=Command, epilog=ZERO_MORE)
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
    before, old, after = zero_check.kept(trace.folder / zero_check.NAME).values()
    places = {(each.channel, each.at_us) for each in made}
    other = [each for each in old if (each.channel, each.at_us) not in places]
    during = sorted([*other, *made], key=lambda each: each.at_us)
    zero_check.store(trace.folder, before, after, during)
    for verdict in checks_of([*before, *during, *after], trace.calibration).verdicts.values():
        click.echo(f"{verdict.checks} zero check{'s' if verdict.checks > 1 else ''}: {verdict.says}")


def _read(trace: Trace, first: int, end: int) -> list[ZeroReading]:
    """The readings of a stretch. Raises Failure, TraceError."""
    at_us = trace.started.monotonic_us + round((first - trace.started.index) * 1e6 / trace.rate_hz)
    try:
        made = zero_check.read(trace.channels, list(trace.blocks(first, end)), at_us)
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: {error}") from None
    if not made:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: none of its channels has a zero to check")
    return made
