# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of `happe-power record`: the recorder, the uploader beside it, and the reports while they run."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import click

from happe_cli.commands import is_terminal
from happe_cli.errors import Failure
from happe_contract.measuring.zeros import checks_of
from happe_power import calibration, sources
from happe_power.recording import closing, live, zero_check
from happe_power.recording.header import LOCAL, NOBODY, Purpose, fitting_part_seconds
from happe_power.recording.recorder import Limits, Recorder
from happe_power.recording.tending import Tended
from happe_power.recording.zero_check import Relay, SwitchError, Zeroing
from happe_power.toml_files import TomlFileError
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from happe_contract.calibration import Calibration
    from happe_contract.measuring.zeros import ZeroReading
    from happe_power.cli.host import Host
    from happe_power.recording.live import Figures
    from happe_power.sources.source import Source
    from happe_power.upload.beside import Beside
    from happe_power.upload.uploader import Waiting

SECOND_S = 1.0
QUIET_S = 60.0  # between reports without a terminal
SIZE_SHARE = 20
SEAL_S = 60.0  # how long the end waits for the server's seal


@dataclass(frozen=True)
class Wanted:
    """The command line's values."""

    source: sources.Spec
    study: str | None
    measured: str | None
    meter: str | None
    calibration: Path | None
    spool: Path | None
    duration: float | None
    no_upload: bool
    no_zero_check: bool
    part_seconds: int
    as_json: bool
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
        """The calibration record and its file's bytes. Raises Failure."""
        path = self._wanted.calibration
        if path is None:
            return None
        content = path.read_bytes()
        try:
            return calibration.parse(content, str(path)), content
        except TomlFileError as error:
            raise Failure(os.EX_CONFIG, *str(error).splitlines()) from None

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
        today = datetime.now(UTC).astimezone().date()
        self._meter_of = live.Wattmeter(source.channels, source.rate_hz, known[0] if known else None, today)
        return recorder

    def _tended(self, source: Source) -> Tended | Zeroing:
        """The source, with a relay for its zero checks if one is named. Raises Failure."""
        tended, command = Tended(source), self._wanted.zero_switch
        if command is None:
            return tended
        if not zero_check.has_zero(source) or source.kind == "file":
            raise Failure(os.EX_USAGE, f"--zero-switch: {source.device} has no inputs that a relay could short")
        try:
            self._zeroing = Zeroing(tended, Relay(command), self._wanted.zero_every or math.inf)
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
