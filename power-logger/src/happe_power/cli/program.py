# SPDX-License-Identifier: GPL-2.0-or-later
"""Puts happe-power's commands together. Each command's module is imported when the command runs."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import HELP, LazyGroup, version_option
from happe_cli.errors import Failure
from happe_cli.program import Program
from happe_power import __version__, config
from happe_power.cli.host import Host

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "happe-power"
SOURCE = "source"
ABOUT = """happe-power - the power logger of HAPPE.

Runs on the measuring host of a study. It samples a laptop's power by a shunt in its supply or by another
instrument. It keeps every sample, or records that it lost one. It uploads the trace to the study server, and
computes watts with their uncertainty."""

MORE = """Examples:
  happe-power sources                                         the instruments of this machine
  happe-power record --source rig.toml --measured T61CODE     a trace, until Ctrl-C
  happe-power import rig.csv --measured T61CODE               a trace from a file of another program
  happe-power status                                          the traces in the spool, and what is left to upload
  happe-power show 2b1e5a52 trace.png                         a picture of a trace

Exit status: 0 done, 1 a check found something, 64 wrong usage, 65 bad data, 66 no such thing, 69 server or
instrument not available, 70 a fault of the program, 73 cannot create a file, 74 cannot write or read,
75 try again later, 77 not allowed, 78 bad configuration.

Environment: HAPPE_POWER_CONFIG names the configuration, as --config does.

Files:
  /etc/happe/happe-power.toml     the configuration; optional
  /var/lib/happe-power            the state, unless the configuration names another folder
    device.json                   the server, and this host's token for it (0600)
    spool/STUDY/UUID/             a trace: header, parts, digests, gaps, clocks, manifest, seal

See also: happe-server(8), happectl(1), comedi_test(1)"""

COMMANDS = {
    "sources": ("happe_power.cli.sources", "List the instruments of this machine, and missing drivers or packages"),
    "calibrate": ("happe_power.cli.calibrate", "Measure zeros and a known load, and write a calibration record"),
    "record": ("happe_power.cli.record", "Sample an instrument into a trace, and upload it"),
    "import": ("happe_power.cli.importing", "Bring a file of another program into a trace, after a look at it"),
    "measure": ("happe_power.cli.measure", "Mean power and energy of an interval, with its uncertainty"),
    "measures": ("happe_power.cli.measure", "Mean power of every run of a study, for `happe-server analyse`"),
    "align": ("happe_power.cli.align", "Check the clocks by the laptop's markers"),
    "zero": ("happe_power.cli.calibrate", "Take a stretch of a trace, with the laptop off, as a zero check"),
    "show": ("happe_power.cli.export", "Draw a trace as a picture"),
    "export": ("happe_power.cli.export", "Write samples of a trace as CSV, NPZ, Parquet, HDF5 or XDF"),
    "verify": ("happe_power.cli.status", "Read all of a trace again, and report faults"),
    "status": ("happe_power.cli.status", "Show the traces in the spool, and what is left to upload"),
    "upload": ("happe_power.cli.upload", "Upload the spool's traces to the study server"),
    "enrol": ("happe_power.cli.upload", "Make this host a measuring device of a study"),
}


class Commands(LazyGroup):
    """All commands of the program."""

    lazy = COMMANDS


def record_defaults(settings: config.Config) -> dict[str, Any]:
    """The configuration's [record] as click's defaults. Raises TomlFileError, SourceError."""
    from happe_power import sources

    command = Commands("").loaded(config.RECORD)
    known = {option.name for option in command.params if isinstance(option, click.Option)}
    for key in settings.record:
        if key not in known:
            raise settings.wrong(f"{config.RECORD}.{key}", f"`{NAME} {config.RECORD}` has no such option")
    if SOURCE not in settings.record:
        return settings.record
    place = f"{config.RECORD}.{SOURCE}"
    named = sources.named(settings.record[SOURCE], lambda name, why: str(settings.wrong(f"{place}.{name}", why)))
    return settings.record | {SOURCE: named}


@click.group(NAME, cls=Commands, help=ABOUT, epilog=MORE, context_settings=HELP, no_args_is_help=False)
@click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar=config.VARIABLE,
    help=f"The configuration  [{config.DEFAULT}]",
    show_envvar=True,
)
@version_option(NAME, __version__)
@click.pass_context
def program(context: click.Context, path: Path | None) -> None:
    """Prepare the configuration; it is read when a command needs it."""
    context.obj = Host(path)
    if context.invoked_subcommand == config.RECORD:
        context.default_map = {config.RECORD: record_defaults(context.obj.config)}


# By name, so that help and completion do not wait for the modules that raise them. A test checks the names.
STATUS = {
    "happe_contract.measuring.session.TraceError": os.EX_DATAERR,
    "happe_power.toml_files.TomlFileError": os.EX_CONFIG,
    "happe_power.sources.source.FinalError": os.EX_DATAERR,
    "happe_power.sources.source.SourceError": os.EX_UNAVAILABLE,
    "happe_power.sources.spec.SpecError": os.EX_CONFIG,
    "happe_power.measuring.RunsError": os.EX_DATAERR,
    "happe_power.upload.identity.IdentityError": os.EX_CONFIG,
    "happe_power.upload.server.LaterError": os.EX_TEMPFAIL,
    "happe_power.upload.server.RefusedError": os.EX_NOPERM,
    "happe_power.upload.server.StoppedError": os.EX_DATAERR,
    "happe_power.upload.server.AddressError": os.EX_CONFIG,
    "happe_power.upload.server.NoAnswerError": os.EX_UNAVAILABLE,
    "happe_power.upload.outbox.BusyError": os.EX_TEMPFAIL,
}


def meaning(error: Exception) -> Failure | None:
    """The message for one of our exceptions; None for another exception."""
    for kind in type(error).__mro__:
        status = STATUS.get(f"{kind.__module__}.{kind.__qualname__}")
        if status is not None:
            return Failure(status, *str(error).splitlines())
    return None


PROGRAM = Program(
    NAME,
    meaning,
    advice={
        errno.EACCES: "be root or the user that records",
        errno.EPERM: "be root or the user that records",
        errno.EROFS: "make the disk writable",
    },
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program. Ends by SystemExit with a status of sysexits.h."""
    PROGRAM.run(program, arguments)
