# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power record`."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_power.cli.host import ENROL, Host, pass_host
from happe_power.cli.recording import Session, Wanted

if TYPE_CHECKING:
    from types import FrameType

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
STUDY = re.compile(r"[^/\x00-\x1f.][^/\x00-\x1f]{0,63}")
CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{8}")
NOT_ENROLLED = "this host has not enrolled at a study server: --no-upload records without"

MORE = """Samples until --duration is over, Ctrl-C or SIGTERM. Everything is kept, or there is a gap that says why not:
the instrument's buffer ran over, it went away (it is tried again each second), a channel was at the end of
its range, the disk was full. What an earlier recording that was killed has left is ended first, so that it
can be uploaded. The exit status is 1 if samples were lost or none came, 65 if a file is wrong, 74 if the end
could not be written.

A zero check before and after (inputs shorted, or the laptop off) is asked for in a terminal, if the
calibration has a shunt.

Examples:
  happe-power record --source comedi:/dev/comedi0,channels=0+1,rate=100000 --measured 1APT0PAA
  happe-power record --source sim,rate=10000 --study try-out --no-upload --duration 10s
  happe-power record --source powercap --study rapl --no-upload --json | jq .watts"""


class Duration(click.ParamType[float]):
    """Seconds, or 90s, 15m, 8h."""

    name = "duration"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:  # noqa: ANN401 - click's
        """The seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value))
        if not found or float(found[1]) == 0:
            self.fail(f"{value} is no duration: say 90s, 15m or 8h", parameter, context)
        return float(found[1]) * UNITS[found[2]]


@click.command(cls=Command, epilog=MORE)
@click.option("--source", required=True, metavar="SPEC", help="What measures; `happe-power sources` lists them")
@click.option("--study", metavar="NAME", help="The study  [the one that this host enrolled in]")
@click.option("--measured", metavar="CODE", help="The code of the laptop that is measured")
@click.option("--meter", metavar="CODE", help="This host's code  [the one it enrolled with]")
@click.option(
    "--calibration",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The calibration record in force, of `happe-power calibrate`",
)
@click.option(
    "--spool", type=click.Path(file_okay=False, path_type=Path), help="Where to keep the trace  [the configuration's]"
)
@click.option("--duration", type=Duration(), metavar="TIME", help="How long: 90s, 15m, 8h")
@click.option("--no-upload", is_flag=True, help="Keep the trace here")
@click.option("--no-zero-check", is_flag=True, help="Ask for no zero check")
@click.option(
    "--part-seconds",
    type=click.IntRange(1, 60),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="Length of a part",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON a second")
@pass_host
@click.pass_context
def record(context: click.Context, host: Host, /, **typed: Any) -> None:  # noqa: ANN401 - click's options
    """Sample an instrument into a trace, and upload it."""
    wanted = Wanted(**typed)
    session = Session(host, wanted, _study(host, wanted), _codes(host, wanted))
    session.recover()
    asks = not (wanted.no_zero_check or wanted.as_json) and is_terminal() and sys.stdin.isatty()
    session.run(_ended_by_signal, asks=asks)
    if session.failed:
        raise Failure(
            os.EX_IOERR,
            *session.failed,
            "what is in the spool is safe; `happe-power verify --repair` or the next recording ends the trace",
        )
    if not session.samples:
        raise Failure(EX_CHECK_FAILED, "nothing was recorded")
    if session.lost:
        context.exit(EX_CHECK_FAILED)


def _study(host: Host, wanted: Wanted) -> str:
    study = wanted.study or (host.identity.study if host.identity else None)
    if study is None:
        raise Failure(os.EX_USAGE, "which study? Say --study NAME, or enrol this host")
    if not STUDY.fullmatch(study):
        raise Failure(os.EX_USAGE, f"--study {study}: a study's name has at most 64 characters and no slash")
    return study


def _codes(host: Host, wanted: Wanted) -> tuple[str | None, str | None]:
    """The meter's code and the laptop's. Who will not upload needs none."""
    for name, code in (("meter", wanted.meter), ("measured", wanted.measured)):
        if code is not None and not CODE.fullmatch(code):
            raise Failure(
                os.EX_USAGE, f"--{name} {code}: a device's code has eight digits and capitals, as the server shows it"
            )
    if wanted.no_upload:
        return wanted.meter, wanted.measured
    if wanted.spool is not None:
        raise Failure(os.EX_USAGE, "--spool needs --no-upload: what is uploaded is in the configuration's spool")
    if host.identity is None:
        raise Failure(os.EX_CONFIG, NOT_ENROLLED, ENROL)
    if wanted.measured is None:
        raise Failure(os.EX_USAGE, "which laptop is measured? Say --measured CODE, or --no-upload")
    return wanted.meter or host.identity.device, wanted.measured


def _ended_by_signal() -> threading.Event:
    """An event that SIGINT and SIGTERM set; the second one ends the program at once."""
    told = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        if told.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        told.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return told
