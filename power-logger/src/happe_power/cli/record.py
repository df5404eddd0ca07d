# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power record`: the recorder, the uploader beside it, and the reports while they run."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_contract.measuring.zeros import checks_of
from happe_power import calibration, sources
from happe_power.cli.host import ENROL, Ending, Host, pass_host
from happe_power.cli.sources import SourceFile
from happe_power.recording import closing, live, zero_check
from happe_power.recording.header import LOCAL, NOBODY, PART_SECONDS, Purpose, fitting_part_seconds
from happe_power.recording.recorder import Limits, Recorder
from happe_power.recording.tending import Tended
from happe_power.recording.zero_check import Relay, SwitchError, Zeroing
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_contract.calibration import Calibration
    from happe_contract.measuring.zeros import ZeroReading
    from happe_power.recording.live import Figures
    from happe_power.sources.source import Source
    from happe_power.upload.beside import Beside
    from happe_power.upload.identity import Identity
    from happe_power.upload.uploader import Waiting

SECOND_S = 1.0
QUIET_S = 60.0  # between reports without a terminal
SIZE_SHARE = 20
SEAL_S = 60.0  # how long the end waits for the server's seal
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


def trace_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of commands that make a trace."""
    record, spool = (click.Path(dir_okay=each, file_okay=not each, path_type=Path) for each in (False, True))
    for option in (
        click.option("--no-upload", is_flag=True, help="Keep the trace on this host"),
        click.option("--spool", type=spool, help="Where to keep the trace  [the configuration's]"),
        click.option("--calibration", type=record, help="The calibration record, from `happe-power calibrate`"),
        click.option("--meter", metavar="CODE", help="This host's code  [the one it enrolled with]"),
        click.option("--measured", metavar="CODE", help="The code of the measured laptop"),
        click.option("--study", metavar="NAME", help="The study  [the one that this host enrolled in]"),
    ):
        command = option(command)
    return command


@click.command(cls=Command, epilog=MORE)
@click.option(
    "--source", type=SourceFile(), required=True, help="The instrument's TOML file, as `happe-power sources` prints it"
)
@trace_options
@click.option("--duration", type=Duration(), metavar="TIME", help="How long: 90s, 15m, 8h")
@click.option("--no-zero-check", is_flag=True, help="Ask for no zero check")
@click.option("--zero-switch", metavar="COMMAND", help="The command that shorts (on) and opens (off) the inputs")
@click.option("--zero-every", type=Duration(), metavar="TIME", help="How often to check the zero in between")
@click.option(
    "--part-seconds",
    type=click.IntRange(1, 60),
    default=PART_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Length of a part",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON a second")
@pass_host
@click.pass_context
def record(context: click.Context, host: Host, /, **typed: Any) -> None:  # noqa: ANN401 - click's options
    """Sample an instrument into a trace, and upload it."""
    carry_out(context, host, Wanted(**typed))


def carry_out(context: click.Context, host: Host, wanted: Wanted) -> None:
    """Make a trace, and end with its exit status."""
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


@dataclass(frozen=True)
class Wanted:
    """The command line's values."""

    source: sources.Spec
    study: str | None
    measured: str | None
    meter: str | None
    calibration: Path | None
    spool: Path | None
    no_upload: bool
    as_json: bool
    no_zero_check: bool
    duration: float | None = None
    part_seconds: int = PART_SECONDS
    zero_switch: str | None = None
    zero_every: float | None = None


class Session:
    """A recording from the command line. `failed`, `lost` and `samples` describe its result."""

    def __init__(self, host: Host, wanted: Wanted, study: str, codes: tuple[str | None, str | None]) -> None:
        """Take the command line's values; do nothing yet. `codes`: of the meter and the laptop."""
        self.failed: list[str] = []
        self.lost = self.samples = 0
        self._noted: list[str] = []
        self._host, self._wanted, self._study = host, wanted, study
        self._meter, self._measured = (code or NOBODY for code in codes)
        self._spool = wanted.spool or host.config.spool
        self._said_at = float("-inf")
        self._counted = (0, 0)
        self._sized = (0, 0.0)
        self._energy_j = 0.0
        self._zeroing: Zeroing | None = None
        self._zeros_kept = 0

    def recover(self) -> None:
        """End the traces of a killed recording."""
        for found in closing.recover(self._spool):
            what = (
                f"not ended: {found.problem}"
                if found.problem
                else "a killed recording left it open; this command has ended it"
            )
            self._say(f"{found.folder}: {what}")

    def run(self, listen: Callable[[], Waiting], *, asks: bool) -> None:
        """Record until a signal or the end. Raises Failure, SourceError, OSError.

        Calls `listen` before the first sample. The function it returns waits some seconds and says whether to end.
        """
        source = sources.make(self._wanted.source)
        self._note(source)
        asks = asks and zero_check.has_zero(source) and self._wanted.zero_switch is None
        before = self._zero("before") if asks else []
        recorder = self._recorder(source)
        beside = self._uploader()
        told_within = listen()
        recorder.start()
        self._counted = recorder.reached
        live.tell("READY=1")
        try:
            while not told_within(SECOND_S) and not recorder.over:
                self._second(recorder)
                self._keep_zeros_of_relay(recorder)
                self._tend(beside)
        finally:
            live.tell("STOPPING=1")
            recorder.stop()
            self._note(source)
            self._keep_zeros_of_relay(recorder)
            self._ended(recorder)
        if self._zeroing:
            self._judge_zeros(self._zeroing.readings, [])
        _keep_zeros(recorder, before, [])  # before the question: the person or the instrument may go away
        after = self._zero("after") if asks else []
        _keep_zeros(recorder, before, after)
        self._judge_zeros(before, after)
        if beside:
            self._sealed(beside.finish(recorder.folders[-1], SEAL_S))

    @cached_property
    def _record(self) -> tuple[Calibration, bytes] | None:
        """The calibration record and its file's bytes. Raises TomlFileError, OSError."""
        path = self._wanted.calibration
        if path is None:
            return None
        content = path.read_bytes()
        return calibration.parse(content, str(path)), content

    def _recorder(self, source: Source) -> Recorder:
        known = self._record
        try:
            seconds = fitting_part_seconds(source, self._wanted.part_seconds)
        except ValueError as error:
            raise Failure(os.EX_USAGE, str(error)) from None
        purpose = Purpose(self._study, self._meter, self._measured, known[0].to_header() if known else None, seconds)
        duration = self._wanted.duration
        recorder = Recorder(
            self._tended(source),
            self._spool / self._study,
            purpose,
            limits=Limits() if duration is None else Limits(indices=round(duration * source.rate_hz)),
            beside=({"calibration.toml": known[1]} if known else {}) | ({LOCAL: b""} if self._wanted.no_upload else {}),
        )
        today = datetime.now(UTC).date()  # as the calibration record's
        self._meter_of = live.Wattmeter(source.channels, source.rate_hz, known[0] if known else None, today)
        return recorder

    def _tended(self, source: Source) -> Tended:
        """The source, with a relay for its zero checks if one is named. Raises Failure."""
        command = self._wanted.zero_switch
        if command is None:
            return Tended(source)
        if not zero_check.has_zero(source) or source.kind == "file":
            raise Failure(os.EX_USAGE, f"--zero-switch: {source.device} has no inputs that a relay could short")
        try:
            self._zeroing = Zeroing(source, Relay(command), self._wanted.zero_every or math.inf)
        except SwitchError as error:
            raise Failure(os.EX_UNAVAILABLE, f"--zero-switch: {error}") from None
        return self._zeroing

    def _keep_zeros_of_relay(self, recorder: Recorder) -> None:
        """Store the relay's new checks beside each trace, and report failed ones."""
        if self._zeroing is None:
            return
        while self._zeroing.failed:
            self._say(f"zero check: {self._zeroing.failed.pop(0)}")
        readings = list(self._zeroing.readings)
        if len(readings) > self._zeros_kept:
            for folder in recorder.folders:
                zero_check.store(folder, [], [], readings)
            self._zeros_kept = len(readings)

    def _uploader(self) -> Beside | None:
        if self._wanted.no_upload:
            return None
        from happe_power.upload.beside import Beside as Uploader

        return Uploader(self._spool, self._host.arguments())

    def _second(self, recorder: Recorder) -> None:
        if recorder.alive:
            live.tell("WATCHDOG=1")
        figures = self._figures(recorder)
        live.tell(f"STATUS={figures.line()}")
        live.leave(recorder.folders[-1], figures.json().encode())
        if self._wanted.as_json:
            click.echo(figures.json())
            sys.stdout.flush()
        elif is_terminal():
            click.echo(f"\r{figures.line()}\x1b[K", nl=False, err=True)
        elif time.monotonic() - self._said_at >= QUIET_S:
            self._said_at = time.monotonic()
            self._say(figures.line())

    def _tend(self, beside: Beside | None) -> None:
        if beside and (news := beside.tend(time.monotonic())):
            if is_terminal() and not self._wanted.as_json:
                click.echo(err=True)
            self._say(news)

    def _figures(self, recorder: Recorder) -> Figures:
        now = time.monotonic()
        rows, then_us = self._counted
        self._counted = new, until_us = recorder.reached
        clocks = Trace.open(recorder.folders[-1]).clocks
        watts = self._meter_of.watts(recorder.recent)
        if watts is not None:
            self._energy_j += watts * (new - rows) / recorder.tended.source.rate_hz
        return live.Figures(
            watts=watts,
            energy_j=None if watts is None and not self._energy_j else self._energy_j,
            note=self._meter_of.note,
            samples=new,
            lost=recorder.lost,
            rate_hz=(new - rows) * 1e6 / max(until_us - then_us, 1),
            spool_bytes=self._spool_bytes(now),
            trouble=recorder.trouble,
            **live.latest(clocks, time.monotonic_ns() // 1000),
        )

    def _spool_bytes(self, now: float) -> int:
        """The size of the spool. It may hold months of files, so counting takes at most a twentieth of the time."""
        if now >= self._sized[1]:
            size = live.bytes_of(self._spool)
            self._sized = (size, now + SIZE_SHARE * (time.monotonic() - now))
        return self._sized[0]

    def _ended(self, recorder: Recorder) -> None:
        self.failed, self.lost = recorder.failed, recorder.lost
        (recorder.folders[-1] / live.LIVE).unlink(missing_ok=True)
        if is_terminal() and not self._wanted.as_json:
            click.echo(err=True)
        folders = [str(folder) for folder in recorder.folders]
        if self._wanted.as_json:
            said = {"ended": True, "samples": recorder.rows, "lost": self.lost, "traces": folders}
            click.echo(json.dumps(said | {"failed": self.failed}))
        else:
            self._say(f"{recorder.rows} samples, {self.lost} lost: {', '.join(folders)}")
        for error in recorder.errors:
            raise error
        self.samples = recorder.rows

    def _note(self, source: Source) -> None:
        """Report the source's remarks, including new ones, each once."""
        for note in sources.notes_of(source):
            if note not in self._noted:
                self._noted.append(note)
                self._say(note)

    def _zero(self, when: str) -> list[ZeroReading]:
        prompt = f"Zero check {when}: short the inputs or switch the laptop off, then Enter; s skips"
        if click.prompt(prompt, default="", show_default=False, err=True).strip().lower() == "s":
            return []
        try:
            return zero_check.take(sources.make(self._wanted.source))
        except ValueError as error:
            self._say(f"zero check {when}: {error}")
            return []

    def _judge_zeros(self, before: list[ZeroReading], after: list[ZeroReading]) -> None:
        checks = checks_of([*before, *after], self._record[0] if self._record else None)
        for verdict in checks.verdicts.values():
            self._say(f"zero check: {verdict.says}")

    def _sealed(self, sealed: bool) -> None:  # noqa: FBT001 - it is the news
        later = "not everything is uploaded yet; `happe-power upload` continues"
        self._say("uploaded, and sealed by the server" if sealed else later)

    def _say(self, line: str) -> None:
        click.echo(f"happe-power: {line}", err=True)


def _keep_zeros(recorder: Recorder, before: list[ZeroReading], after: list[ZeroReading]) -> None:
    for folder in recorder.folders if before or after else ():
        zero_check.store(folder, before, after)
