# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power record`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_power.cli.host import ENROL, Ending, Host, pass_host
from happe_power.cli.recording import Session, Wanted
from happe_power.cli.sources import SourceFile

if TYPE_CHECKING:
    from happe_power.upload.identity import Identity

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
STUDY = re.compile(r"[^/\x00-\x1f.][^/\x00-\x1f]{0,63}")
CODE = re.compile(r"[0-9A-HJKMNP-TV-Z]{8}")
MOST_NAMED = 20
ASKS_S = 5.0  # how long `record` waits for the server to name the study's laptops
NOT_ENROLLED = "this host is not enrolled with a study server; --no-upload records without one"

MORE = """Samples until --duration is over, Ctrl-C or SIGTERM. It keeps every sample, or records a gap with the
reason: the instrument's buffer ran over, the instrument went away (the command tries it again each second), a
channel was at the end of its range, the disk was full. If an earlier recording was killed, the command first
ends that trace, so that it can be uploaded. The exit status is 1 if samples were lost or none came, 65 if a
file is wrong, 78 if its source is, 74 if the end could not be written.

If the calibration has a shunt, the command asks in a terminal for a zero check (inputs shorted, or the laptop
off) before and after the recording.

--zero-switch names a command that shorts the inputs by a relay when its last word is `on`, and opens them
when it is `off`. With it the zero is checked at the beginning and the end, and with --zero-every in between,
without a person. Samples during a check become a gap `zero`.

Examples:
  happe-power record --source rig.toml --measured 1APT0PAA
  happe-power record --source sim.toml --study try-out --no-upload --duration 10s
  happe-power record --source rapl.toml --study rapl --no-upload --json | jq .watts"""


class Duration(click.ParamType[float]):
    """Seconds, or 90s, 15m, 8h."""

    name = "duration"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> float:  # noqa: ANN401 - click's
        """The seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", str(value))
        if not found or float(found[1]) == 0:
            self.fail(f"{value} is not a duration: say 90s, 15m or 8h", parameter, context)
        return float(found[1]) * UNITS[found[2]]


@click.command(cls=Command, epilog=MORE)
@click.option(
    "--source", type=SourceFile(), required=True, help="The instrument's TOML file, as `happe-power sources` prints it"
)
@click.option("--study", metavar="NAME", help="The study  [the one that this host enrolled in]")
@click.option("--measured", metavar="CODE", help="The code of the measured laptop")
@click.option("--meter", metavar="CODE", help="This host's code  [the one it enrolled with]")
@click.option(
    "--calibration",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The calibration record, from `happe-power calibrate`",
)
@click.option(
    "--spool", type=click.Path(file_okay=False, path_type=Path), help="Where to keep the trace  [the configuration's]"
)
@click.option("--duration", type=Duration(), metavar="TIME", help="How long: 90s, 15m, 8h")
@click.option("--no-upload", is_flag=True, help="Keep the trace on this host")
@click.option("--no-zero-check", is_flag=True, help="Ask for no zero check")
@click.option("--zero-switch", metavar="COMMAND", help="The command that shorts (on) and opens (off) the inputs")
@click.option("--zero-every", type=Duration(), metavar="TIME", help="How often to check the zero in between")
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
    study = _study(host, wanted)
    meter, measured = _codes(host, wanted)
    if measured and not wanted.no_upload:
        _require_laptop(host, study, measured)
    session = Session(host, wanted, study, (meter, measured))
    session.recover()
    asks = not (wanted.no_zero_check or wanted.as_json) and is_terminal() and sys.stdin.isatty()
    session.run(lambda: Ending().wait, asks=asks)
    if session.failed:
        raise Failure(
            os.EX_IOERR,
            *session.failed,
            "the data in the spool are safe; `happe-power verify --repair` or the next recording ends the trace",
        )
    if not session.samples:
        raise Failure(EX_CHECK_FAILED, "nothing was recorded")
    if session.lost:
        context.exit(EX_CHECK_FAILED)


def _study(host: Host, wanted: Wanted) -> str:
    study = wanted.study or (host.identity.study if host.identity else None)
    if study is None:
        raise Failure(os.EX_USAGE, "no study; give --study NAME, or enrol this host")
    if not STUDY.fullmatch(study):
        raise Failure(os.EX_USAGE, f"--study {study}: a study's name has at most 64 characters and no slash")
    return study


def _codes(host: Host, wanted: Wanted) -> tuple[str | None, str | None]:
    """The codes of the meter and the laptop. Both are None without an upload."""
    for name, code in (("meter", wanted.meter), ("measured", wanted.measured)):
        if code is not None and not CODE.fullmatch(code):
            raise Failure(
                os.EX_USAGE, f"--{name} {code}: a device's code has eight digits and capitals, as the server shows it"
            )
    if wanted.no_upload:
        return wanted.meter, wanted.measured
    if wanted.spool is not None:
        raise Failure(os.EX_USAGE, "--spool needs --no-upload: the uploader reads only the configuration's spool")
    if host.identity is None:
        raise Failure(os.EX_CONFIG, NOT_ENROLLED, ENROL)
    if wanted.measured is None:
        raise Failure(os.EX_USAGE, "no laptop; give --measured CODE, or --no-upload")
    _require_own(host.identity, wanted)
    return host.identity.device, wanted.measured


def _require_own(itself: Identity, wanted: Wanted) -> None:
    """Refuse what the server would refuse in the header of a trace."""
    for name, said, own in (("study", wanted.study, itself.study), ("meter", wanted.meter, itself.device)):
        if said not in (None, own):
            raise Failure(os.EX_USAGE, f"--{name} {said}: this host is device {itself.device} of study {itself.study}")


def _require_laptop(host: Host, study: str, code: str) -> None:
    """Refuse a laptop that is not in the study. If the server does not answer, record anyway."""
    from happe_power.upload.server import NoAnswerError

    server = host.server()
    try:
        answer = server.get("device/laptops", patience_s=ASKS_S)
        known, why = answer.document.get("laptops"), answer.detail
    except NoAnswerError as error:
        known, why = None, str(error)
    finally:
        server.close()
    if not isinstance(known, list):
        click.echo(f"happe-power: nobody has checked --measured {code}: {why}", err=True)
    elif code not in known:
        has = f"its laptops are {', '.join(map(str, known[:MOST_NAMED]))}" if known else "it has no laptop yet"
        raise Failure(os.EX_USAGE, f"--measured {code}: no such laptop in study {study}; {has}")
