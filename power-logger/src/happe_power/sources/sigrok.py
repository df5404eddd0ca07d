# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads every instrument of sigrok (multimeters, oscilloscopes, power analysers) through its program sigrok-cli.

Observations of sigrok-cli 0.7.2: `--continuous` ends when its standard input is readable or closed, so it gets a pipe
that stays open. With several channels it also prints each sample of all but one as `A1: 3.09 V DC`; the source skips
those lines. CSV's columns are in the device's order, whatever `-C` says; a comment names them. (`label=channel` names
them too, but then libsigrok 0.5.2 uses names that it has freed.)
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np

from happe_contract.traces import Block, Gap, Measures, Reason
from happe_power.sources.clock import MICROS
from happe_power.sources.ledger import Ledger
from happe_power.sources.source import Reading, SourceError, UnpluggedError
from happe_power.sources.spec import (
    MEASURES,
    OPTIONAL,
    TEXT,
    YES_OR_NO,
    Found,
    Kind,
    Option,
    Spec,
    SpecError,
    channels_of,
    list_of,
    number,
)
from happe_power.sources.text import Bad, Lines, LongLineError, numbers_only, tables

if TYPE_CHECKING:
    from happe_contract.traces import TimePair
    from happe_power.sources.clock import Clock

PROGRAM = "sigrok-cli"
GET_PROGRAM = "sudo apt-get install sigrok-cli"
BATCH_S = 0.05
ENDS_WITHIN_S = 2.0
SILENT_S = 10.0
SILENT_PERIODS = 10
FIRST_WORD_S = 20.0  # a serial instrument takes some seconds to answer
SCAN_S = 30.0
PIPE_BYTES = 1 << 20  # 0.2 s of two channels at 100 kHz
SAID_BYTES = 400
COMMENT = re.compile(rb"(?m)^;[^\n]*\n")
LABELS = "Channels ("
CHANNEL = {"type": "string", "pattern": r"^[A-Za-z0-9_.-]{1,32}$"}


@dataclass(frozen=True)
class Setting:
    """The settings for sigrok-cli. `config` has further settings of the device, such as `voltage_threshold=1.8`."""

    device: str
    names: tuple[str, ...]
    measures: tuple[Measures, ...]
    rate_hz: float
    sets_rate: bool = True
    config: str = ""


class Sigrok:
    """A source that reads the CSV of a child process."""

    kind = "sigrok"
    serial: str | None = None

    def __init__(self, setting: Setting, clock: Clock, program: str = PROGRAM) -> None:
        """Find sigrok-cli. Raises SourceError if it is not installed."""
        found = shutil.which(program)
        if found is None:
            raise SourceError(f"{program} is not installed; `{GET_PROGRAM}`")
        self._program = found
        self._setting = setting
        self._clock = clock
        self.device = f"sigrok {setting.device}"[:200]
        count = len(setting.names)
        self.channels = channels_of(setting.measures, np.dtype(np.float32), [1.0] * count, [0.0] * count)
        self.rate_hz = setting.rate_hz
        self._ledger = Ledger(setting.rate_hz, clock)
        self._child: Child | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the rate differs from the nominal one."""
        return self._ledger.notes

    def start(self, first_index: int) -> TimePair:
        """Start sigrok-cli. The first sample's time is a period earlier for each row that came with the first line."""
        self.stop()
        self._child = Child(self._command(), self._setting.names)
        try:
            self._child.wait_for_rows(FIRST_WORD_S)
        except SourceError:
            self.stop()
            raise
        return self._ledger.begin(first_index, ago_us=round(self._child.waiting * MICROS / self.rate_hz))

    def read(self, timeout_s: float) -> Reading:
        """Return a batch of samples. A line that is no row of numbers becomes a gap `invalid` of one index."""
        if self._child is None:
            raise SourceError(f"{self.device} was not started")
        self._clock.sleep(min(timeout_s, BATCH_S))
        lines, emptied = self._child.lines(timeout_s)
        items = self._items(lines)
        if not items and self._ledger.silent_s > max(SILENT_S, SILENT_PERIODS / self.rate_hz):
            raise UnpluggedError(
                f"{PROGRAM} wrote nothing for {self._ledger.silent_s:.0f} s; is the instrument connected?"
            )
        return Reading(tuple(items), self._ledger.up_to_date() if items and emptied else None)

    def stop(self) -> None:
        """End sigrok-cli: first close its input, so that it releases the instrument."""
        if self._child:
            child, self._child = self._child, None
            child.end()

    def _items(self, lines: bytes) -> list[Block | Gap]:
        order = self._child.order if self._child else []
        items: list[Block | Gap] = []
        for found in tables(lines, numbers_only(len(order))):
            if isinstance(found, Bad):
                items.append(self._ledger.lose(1, Reason.INVALID))
            else:
                with np.errstate(over="ignore"):  # a number too large for float32 becomes inf, which is out of range
                    items.append(self._ledger.block([found[column].astype(np.float32) for column in order]))
        return items

    def _command(self) -> list[str]:
        config = f"samplerate={self._setting.rate_hz:.0f}" if self._setting.sets_rate else ""
        config = ":".join(filter(None, [config, self._setting.config]))
        return [
            self._program, "--driver", self._setting.device, *(["--config", config] if config else []),
            "--channels", ",".join(self._setting.names), "--continuous",
            "--output-format", "csv:header=true:label=off:dedup=false",
        ]  # fmt: skip


class Child:
    """A running sigrok-cli, and its output."""

    def __init__(self, command: list[str], names: tuple[str, ...]) -> None:
        """Start the command. Raises SourceError if that is not possible."""
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, start_new_session=True
            )
        except OSError as error:
            self._said.close()
            raise SourceError(f"{command[0]}: {error.strerror}") from None
        assert self._process.stdout  # noqa: S101 - PIPE
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        with suppress(OSError):  # only as far as this user may enlarge it
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._lines = Lines()
        self._names = names
        self._echo = re.compile(b"(?m)^(?:" + b"|".join(re.escape(name.encode()) for name in names) + rb"): [^\n]*\n")
        self._begun = b""
        self.order: list[int] = []

    def wait_for_rows(self, timeout_s: float) -> None:
        """Read the comments and the first rows. Raises UnpluggedError if the child ends, or is silent for so long."""
        until = time.monotonic() + timeout_s
        while not self._begun:
            if time.monotonic() > until:
                raise UnpluggedError(f"{PROGRAM} wrote nothing for {timeout_s:.0f} s; is the instrument connected?")
            more, _ = self._whole_lines(until - time.monotonic())
            for line in COMMENT.findall(more):
                self._take_comment(line.decode(errors="replace"))
            self._begun = self._echo.sub(b"", COMMENT.sub(b"", more))
        if not self.order:
            raise SourceError(f"{PROGRAM} did not name its columns; version 0.7.2 does: `{PROGRAM} --version`")

    def _take_comment(self, line: str) -> None:
        """Learn the order of our columns from a comment such as `; Channels (2/3): A0, A2`."""
        if LABELS not in line:
            return
        labels = line.partition("): ")[2].strip().split(", ")
        if sorted(labels) != sorted(self._names):
            raise SourceError(f"{PROGRAM} gives {', '.join(labels)[:80]}, not {', '.join(self._names)}")
        self.order = [labels.index(name) for name in self._names]

    @property
    def waiting(self) -> int:
        """The number of rows that came and were not taken yet."""
        return self._begun.count(b"\n")

    def lines(self, timeout_s: float) -> tuple[bytes, bool]:
        """Return lines of numbers, and whether the child had written nothing more."""
        begun, self._begun = self._begun, b""
        if begun:
            return begun, False
        more, emptied = self._whole_lines(timeout_s)
        return self._echo.sub(b"", COMMENT.sub(b"", more)), emptied

    def end(self) -> None:
        """End the child, and wait for it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        try:
            self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def _whole_lines(self, timeout_s: float) -> tuple[bytes, bool]:
        """Wait for output. Return complete lines, and whether no more output waits."""
        ready, _, _ = select.select([self._out], [], [], max(0.0, timeout_s))
        if not ready:
            return b"", True
        data = os.read(self._out, PIPE_BYTES)
        if not data:
            raise UnpluggedError(self._ended())
        try:
            return self._lines.take(data), len(data) < PIPE_BYTES // 2
        except LongLineError as error:
            raise SourceError(f"{PROGRAM}: {error}") from None

    def _ended(self) -> str:
        """Say why the child ended, with its own last words."""
        try:
            status = self._process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            return f"{PROGRAM} closed its output"
        self._said.seek(0)
        words = " ".join(self._said.read(SAID_BYTES).decode(errors="replace").split())
        return f"{PROGRAM} ended with status {status}" + (f": {words}" if words else "; is the instrument connected?")


def make(spec: Spec, clock: Clock) -> Sigrok:
    """Make a source from a spec such as sigrok:demo:analog_channels=2. PLACE is sigrok-cli's --driver."""
    if not spec.place:
        raise SpecError(f"{spec.text}: which device? `sigrok-cli --scan` lists them; e.g. {KIND.example}")
    names = spec.names("channels")
    config = spec.text_of("config").replace("+", ":")
    setting = Setting(spec.place, names, spec.measures(len(names)), spec.number("rate"), spec.is_so("setrate"), config)
    if setting.sets_rate and setting.rate_hz < 1:
        raise SpecError(f"{spec.text}: rate= must be at least 1, or setrate=no")
    return Sigrok(setting, clock)


def find(program: str = PROGRAM) -> list[Found]:
    """The devices that `sigrok-cli --scan` finds on USB. The user must name devices on serial lines."""
    if shutil.which(program) is None:
        return [Found("sigrok", None, f"{program} is not installed", GET_PROGRAM)]
    try:
        ended = subprocess.run([program, "--scan"], check=False, capture_output=True, text=True, timeout=SCAN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Found("sigrok", None, f"`{program} --scan` does not work: {error}")]
    devices = [line.partition(" - ") for line in ended.stdout.splitlines() if " - " in line]
    return [_found(driver, says) for driver, _, says in devices]


def _found(driver: str, says: str) -> Found:
    if driver == "demo":
        demo = "demo:logic_channels=0:analog_channels=2"
        return Found(
            "sigrok", f"sigrok:{demo},channels=A0+A1,rate=1000", "the simulated device of sigrok, not a measurement"
        )
    return Found("sigrok", f"sigrok:{driver},channels=CH1,measures=shunt,rate=1000", says[:120])


KIND = Kind(
    "sigrok",
    "any instrument that sigrok-cli knows",
    "DRIVER[:conn=...]",
    "sigrok:demo:logic_channels=0:analog_channels=2,channels=A0+A1,rate=10000",
    (
        Option(
            "channels",
            None,
            "the instrument's names for them, in the order of `measures`",
            list_of(CHANNEL, unique=True),
        ),
        MEASURES,
        Option("rate", "1000", "samples of each channel a second", number(0.01, 1e7)),
        Option(
            "setrate",
            "yes",
            "no: the instrument's rate is fixed, as a multimeter's; `rate` states it",
            YES_OR_NO,
        ),
        Option("config", OPTIONAL, "further settings for sigrok-cli's --config, joined by +", list_of(TEXT)),
    ),
    make,
    find,
)
