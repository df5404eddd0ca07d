# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power replay`."""

from __future__ import annotations

import json
import math
import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_power.cli.host import Host, pass_host
from happe_power.cli.stretch import from_option, opened, to_option, trace_argument

if TYPE_CHECKING:
    from happe_power.cli.moments import Moment
    from happe_power.recording.live import Wattmeter
    from happe_power.sources.source import Reading
    from happe_power.trace import Trace
    from happe_power.viewing.replaying import Replay

READ_S = 0.2
DEFAULT_STUDY = "replay"
MORE = """Prints a line of JSON for each reading: its first index, how many rows, each channel's mean at the
instrument's input, watts (null: there are none), and the gaps. With --record it becomes a new trace of the kind
`file` in the spool, so nobody mistakes it for a new measurement. --speed 10 is ten times as fast.

Examples:
  happe-power replay 2b1e5a52 | jq .watts
  happe-power replay 2b1e5a52 --from 15m --to 17m --speed max
  happe-power replay 2b1e5a52 --record --speed max"""


class Speed(click.ParamType[float]):
    """A factor, or max."""

    name = "factor"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:  # noqa: ANN401 - click's
        """The factor; infinite for max."""
        if value == "max":
            return math.inf
        try:
            speed = float(value)
        except ValueError:
            speed = 0.0
        if not 0.001 <= speed <= 1e6:  # noqa: PLR2004 - of sense
            self.fail(f"{value}: must be a factor from 0.001 to 1e6, or max", parameter, context)
        return speed


@click.command(cls=Command, epilog=MORE)
@trace_argument
@from_option
@to_option
@click.option("--speed", type=Speed(), default=1.0, metavar="FACTOR", help="How many seconds pass in one, or max  [1]")
@click.option("--record", "recording", is_flag=True, help="Make a new trace in the spool; prints its folder")
@click.option("--study", default=DEFAULT_STUDY, show_default=True, metavar="NAME", help="The new trace's study")
@pass_host
def replay(  # noqa: PLR0913 - click's
    host: Host,
    /,
    *,
    name: str,
    begin: Moment | None,
    until: Moment | None,
    speed: float,
    recording: bool,
    study: str,
) -> None:
    """Play a trace as if it were measured now."""
    from happe_power.sources.clock import SystemClock
    from happe_power.viewing.replaying import Replay as Source

    trace, first, end = opened(host, name, begin, until)
    source = Source(trace, first, end, speed, SystemClock())
    if recording:
        _record(host, trace, source, study)
    else:
        _print(trace, source)


def _print(trace: Trace, source: Replay) -> None:
    from happe_contract.calibration import from_header
    from happe_power.recording.live import Wattmeter as Meter
    from happe_power.sources.source import EndedError

    day = datetime.fromtimestamp(trace.started.realtime_us / 1e6, UTC).date()
    meter = Meter(trace.channels, trace.rate_hz, from_header(trace.calibration), day)
    if meter.note:
        click.echo(f"happe-power: {meter.note}", err=True)
    source.start(0)
    while True:
        try:
            reading = source.read(READ_S)
        except EndedError:
            return
        if reading.items:
            click.echo(json.dumps(_shown(trace, meter, reading)))
            sys.stdout.flush()


def _shown(trace: Trace, meter: Wattmeter, reading: Reading) -> dict[str, Any]:
    from happe_contract.rig import values
    from happe_contract.traces import Block

    blocks = [item for item in reading.items if isinstance(item, Block)]
    gaps = [item for item in reading.items if not isinstance(item, Block)]
    rows = sum(block.rows for block in blocks)
    means = {
        each.name: sum(float(values(each, block.columns[at]).sum()) for block in blocks) / rows if rows else None
        for at, each in enumerate(trace.channels)
    }
    lost = [{"from_index": g.from_index, "to_index": g.to_index, "reason": g.reason.value} for g in gaps]
    first = min([b.first_index for b in blocks] + [g.from_index for g in gaps])
    return {"first_index": first, "rows": rows, "means": means, "watts": meter.watts([reading]), "gaps": lost}


def _record(host: Host, trace: Trace, source: Replay, study: str) -> None:
    from happe_power.recording.header import Purpose
    from happe_power.recording.layout import LOCAL
    from happe_power.recording.recorder import Recorder
    from happe_power.recording.tending import Tended

    if "/" in study or study.startswith(".") or not study:
        raise Failure(os.EX_USAGE, f"--study {study}: a study's name has no slash and does not begin with a dot")
    copy = trace.folder / "calibration.toml"
    beside = {LOCAL: b""} | ({copy.name: copy.read_bytes()} if copy.exists() else {})
    purpose = Purpose(study, calibration=trace.calibration, part_seconds=trace.header["part_seconds"])
    recorder = Recorder(Tended(source), host.config.spool / study, purpose, beside=beside)
    recorder.start()
    try:
        recorder.wait()
    finally:
        recorder.stop()
    for error in recorder.errors:
        raise error
    if recorder.failed:
        raise Failure(os.EX_IOERR, *recorder.failed)
    for folder in recorder.folders:
        click.echo(folder)
