# SPDX-License-Identifier: GPL-2.0-or-later
"""One run of `happe-power record`: the recorder, the uploader beside it, and what is said meanwhile."""

from __future__ import annotations

import json
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
from happe_power import calibration, sources
from happe_power.arithmetic.zeros import checks_of
from happe_power.recording import live, notify, store, zero_check
from happe_power.recording.header import NOBODY, Purpose, fitting_part_seconds
from happe_power.recording.layout import LOCAL
from happe_power.recording.recorder import Limits, Recorder
from happe_power.recording.tending import Tended
from happe_power.toml_fields import TomlFileError
from happe_power.trace import Trace

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from pathlib import Path

    from happe_contract.calibration import Calibration
    from happe_power.arithmetic.zeros import ZeroReading
    from happe_power.cli.host import Host
    from happe_power.recording.live import Figures
    from happe_power.sources.source import Source
    from happe_power.upload.beside import Beside

SECOND_S = 1.0
QUIET_S = 60.0  # between lines where nobody looks
SIZE_SHARE = 20
SEAL_S = 60.0  # how long the end waits for the server's seal


@dataclass(frozen=True)
class Wanted:
    """What was typed."""

    source: str
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


class Session:
    """A recording from the command line. `failed`, `lost` and `samples` say how it went."""

    def __init__(self, host: Host, wanted: Wanted, study: str, codes: tuple[str | None, str | None]) -> None:
        """Take what was typed; nothing is done yet. `codes`: of meter and laptop."""
        self.failed: list[str] = []
        self.lost = self.samples = 0
        self._noted: list[str] = []
        self._host, self._wanted, self._study = host, wanted, study
        self._meter, self._measured = (code or NOBODY for code in codes)
        self._spool = wanted.spool or host.config.spool
        self._said_at = float("-inf")
        self._counted = (time.monotonic(), 0)
        self._sized = (0, 0.0)

    def recover(self) -> None:
        """End what a recording that was killed has left."""
        for found in store.recover(self._spool):
            what = f"not ended: {found.problem}" if found.problem else "was left open, and has been ended"
            self._say(f"{found.folder}: {what}")

    def run(self, listen: Callable[[], threading.Event], *, asks: bool) -> None:
        """Record until told to end, or over. Raises Failure, SourceError, OSError.

        `listen` is called before the first sample, for the event that tells to end.
        """
        source = sources.make(self._wanted.source)
        self._note(source)
        asks = asks and zero_check.has_zero(source)
        before = self._zero("before") if asks else []
        recorder = self._recorder(source)
        beside = self._uploader()
        told = listen()
        recorder.start()
        notify.tell("READY=1")
        try:
            while not told.wait(SECOND_S) and not recorder.over:
                self._second(recorder)
                self._tend(beside)
        finally:
            notify.tell("STOPPING=1")
            recorder.stop()
            self._note(source)
            self._ended(recorder)
        _keep_zeros(recorder, before, [])  # the one who is asked may go away, or the instrument
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
            Tended(source),
            self._spool / self._study,
            purpose,
            limits=Limits() if duration is None else Limits(indices=round(duration * source.rate_hz)),
            beside=({"calibration.toml": known[1]} if known else {}) | ({LOCAL: b""} if self._wanted.no_upload else {}),
        )
        today = datetime.now(UTC).astimezone().date()
        self._meter_of = live.Wattmeter(source.channels, source.rate_hz, known[0] if known else None, today)
        return recorder

    def _uploader(self) -> Beside | None:
        if self._wanted.no_upload:
            return None
        from happe_power.upload.beside import Beside as Uploader

        return Uploader(self._spool, self._host.arguments())

    def _second(self, recorder: Recorder) -> None:
        if recorder.alive:
            notify.tell("WATCHDOG=1")
        figures = self._figures(recorder)
        notify.tell(f"STATUS={figures.line()}")
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
        then, rows = self._counted
        self._counted = now, new = time.monotonic(), recorder.rows
        clocks = Trace.open(recorder.folders[-1]).clocks
        return live.Figures(
            watts=self._meter_of.watts(recorder.recent),
            note=self._meter_of.note,
            samples=new,
            lost=recorder.lost,
            rate_hz=(new - rows) / max(now - then, 1e-9),
            spool_bytes=self._spool_bytes(now),
            trouble=recorder.trouble,
            **live.latest(clocks, time.monotonic_ns() // 1000),
        )

    def _spool_bytes(self, now: float) -> int:
        """What the spool takes; counted as often as a twentieth of the time allows, as it may have months of files."""
        if now >= self._sized[1]:
            size = live.bytes_of(self._spool)
            self._sized = (size, now + SIZE_SHARE * (time.monotonic() - now))
        return self._sized[0]

    def _ended(self, recorder: Recorder) -> None:
        self.failed, self.lost = recorder.failed, recorder.lost
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
        """Say what the source wants known, what it has found out meanwhile included; each once."""
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
        checks = checks_of(before, after, self._record[0] if self._record else None)
        for verdict in checks.verdicts.values():
            self._say(f"zero check: {verdict.says}")

    def _sealed(self, sealed: bool) -> None:  # noqa: FBT001 - it is the news
        later = "not all is uploaded yet; `happe-power upload` goes on with it"
        self._say("uploaded, and sealed by the server" if sealed else later)

    def _say(self, line: str) -> None:
        click.echo(f"happe-power: {line}", err=True)


def _keep_zeros(recorder: Recorder, before: list[ZeroReading], after: list[ZeroReading]) -> None:
    for folder in recorder.folders if before or after else ():
        zero_check.store(folder, before, after)
