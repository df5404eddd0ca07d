# SPDX-License-Identifier: GPL-2.0-or-later
"""The measuring host of a command, the traces and times that a command names, and the signal that ends it."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import queue
import re
import signal
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.errors import Failure
from happe_power import config as configuration

if TYPE_CHECKING:
    from types import FrameType

    from happe_contract.cuts import Clocks
    from happe_power.config import Config
    from happe_power.trace import Trace
    from happe_power.upload.identity import Identity
    from happe_power.upload.server import Server

ENROL = "`happe-power enrol --server URL --code CODE` enrols this host; an administrator makes the code"


class Host:
    """The host that the program runs on. Reads only what the command needs."""

    def __init__(self, path: Path | None) -> None:
        """Read nothing yet. `path` is the configuration file; None: the usual file, if it exists."""
        self._path = path

    @cached_property
    def config(self) -> Config:
        """The configuration. Raises TomlFileError."""
        return configuration.load(self._path or configuration.DEFAULT, named=self._path is not None)

    @cached_property
    def identity(self) -> Identity | None:
        """The host's enrolment with the study server; None: not enrolled. Raises IdentityError, TomlFileError."""
        from happe_power.upload import identity

        found = identity.load(self.config.state)
        wanted = (self.config.server or "").rstrip("/")
        if found and wanted and found.server != wanted:
            advice = "`happe-power enrol --again` enrols it with this server instead"
            raise self.config.wrong("server", f"this host is enrolled at {found.server}; {advice}")
        return found

    @property
    def enrolled(self) -> Identity:
        """The enrolment of a host that must have one. Raises Failure if it has none."""
        if self.identity is None:
            raise Failure(os.EX_CONFIG, "this host is not enrolled with a study server", ENROL)
        return self.identity

    def server(self) -> Server:
        """The study server at which this host enrolled. Raises Failure, AddressError."""
        from happe_power.upload.server import Server

        itself, config = self.enrolled, self.config
        return Server(itself.server, itself.token, ca_file=config.ca_file, plain_http=config.plain_http)

    def arguments(self) -> list[str]:
        """The options for another happe-power that works on the same host."""
        return ["--config", str(self._path.absolute())] if self._path else []

    def trace(self, name: str) -> Path:
        """The folder of a trace: a path, or the beginning of a UUID in the spool. Raises Failure."""
        if (Path(name) / "header.json").exists():
            return Path(name)
        found = sorted(path for path in self.config.spool.glob(f"*/{name}*") if (path / "header.json").exists())
        if len(found) == 1:
            return found[0]
        where = f"{name}: no folder of a trace, and {len(found) or 'none'} in {self.config.spool} begin like this"
        raise Failure(os.EX_NOINPUT, where, "`happe-power status` lists them")


spool_option = click.option(
    "--spool",
    "spool_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where traces are  [`spool` of the file]",
)
pass_host = click.make_pass_decorator(Host)


class Ending:
    """SIGINT or SIGTERM ends a command at its next `wait`; a second signal ends the program at once.

    A signal may come in the middle of a wait. A `threading.Event` would then wait for its own lock; a SimpleQueue's
    `put` may interrupt its `get` (Python's library reference, queue).
    """

    def __init__(self) -> None:
        """Begin to listen for signals. Only the main thread can."""
        self._told = False
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._tell)

    def wait(self, seconds: float | None = None) -> bool:
        """True if a signal has come, or comes within these seconds. None: wait until one comes."""
        if not self._told:
            with contextlib.suppress(queue.Empty):
                self._news.get(timeout=seconds)
        return self._told

    def _tell(self, number: int, _frame: FrameType | None) -> None:
        if self._told:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._told = True
        self._news.put(None)


SECOND = 1_000_000
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
AFTER = re.compile(r"(\d+(?:\.\d+)?)([smh]?)", re.ASCII)
CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d{1,6})?))?(Z?)", re.ASCII)
LEAST_US = 1_000_000_000_000  # a smaller number is seconds after the first sample; as microseconds it would be in 1970
SAY = "say 15m after the first sample, 10:30 of its day, 2026-11-21T14:05:00Z, or microseconds since 1970"
TIMES = """A TIME is 90, 12.5s, 15m or 2h after the first sample; 10:30 or 10:30:15.5 in this host's time zone
(10:30Z for UTC), the first such time after the trace began; 2026-11-21T14:05:00Z; or microseconds since 1970."""


@dataclass(frozen=True)
class Moment:
    """One of: seconds after the first sample, the server's microseconds, or a time of day."""

    after_s: float | None = None
    server_us: int | None = None
    of_day: dt.time | None = None

    def at(self, clocks: Clocks, first_index: int) -> int:
        """The server's time, in microseconds. `first_index`: of the trace's first sample."""
        if self.server_us is not None:
            return self.server_us
        if self.after_s is not None:
            return clocks.server.server_us(clocks.samples.us(first_index) + self.after_s * SECOND)
        assert self.of_day is not None  # noqa: S101 - one of the three is there
        return _first(self.of_day, clocks.server_us(first_index))


def _first(of_day: dt.time, not_before_us: int) -> int:
    """The first time of day at or after an instant, in microseconds since 1970."""
    began = dt.datetime.fromtimestamp(not_before_us / SECOND, of_day.tzinfo)
    for days in (0, 1):
        day = began.date() + dt.timedelta(days=days)
        found = dt.datetime.combine(day, of_day).astimezone(dt.UTC)
        found_us = _since_1970_us(found)
        if found_us >= not_before_us:
            return found_us
    return found_us


def _since_1970_us(instant: dt.datetime) -> int:
    return (instant - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)


class MomentType(click.ParamType[Moment]):
    """A time as a person types it."""

    name = "time"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Moment:  # noqa: ANN401 - click's
        """The moment that a text means."""
        text = str(value)
        if found := AFTER.fullmatch(text):
            number = float(found[1]) * UNITS[found[2]]
            is_server = text.isdigit() and number >= LEAST_US
            return Moment(server_us=int(text)) if is_server else Moment(after_s=number)
        try:
            if found := CLOCK.fullmatch(text):
                seconds = float(found[3] or 0)
                zone = dt.UTC if found[4] else None
                whole, micros = divmod(round(seconds * SECOND), SECOND)
                return Moment(of_day=dt.time(int(found[1]), int(found[2]), whole, micros, zone))
            moment = dt.datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{value}: {SAY}", parameter, context)
        if moment.tzinfo is None:
            self.fail(f"{value}: needs a zone, as in {value}Z", parameter, context)
        return Moment(server_us=_since_1970_us(moment))


MOMENT = MomentType()
trace_argument = click.argument("name", metavar="TRACE")
from_option = click.option(
    "--from", "begin", type=MOMENT, help="Where it begins, as 15m after the first sample, or 10:30"
)
to_option = click.option("--to", "until", type=MOMENT, help="Where it ends, likewise")


def opened(host: Host, name: str, begin: Moment | None, until: Moment | None) -> tuple[Trace, int, int]:
    """A trace and the indices of a stretch of it. Raises Failure, TraceError."""
    from happe_power.tables import between
    from happe_power.trace import Trace

    trace = Trace.open(host.trace(name))
    try:
        return trace, *between(trace, *(_after_s(trace, each) for each in (begin, until)))
    except ValueError as error:
        raise Failure(os.EX_DATAERR, f"{trace.folder}: {error}") from None


def _after_s(trace: Trace, moment: Moment | None) -> float | None:
    """Seconds after the first sample, by the server's time, or by this host's if the server's is unknown."""
    if moment is None or moment.after_s is not None:
        return None if moment is None else moment.after_s
    from happe_contract.measuring.refusal import Refusal
    from happe_power.figures import clocks_of

    clocks = clocks_of(trace)
    if isinstance(clocks, Refusal):
        clocks = clocks_of(trace, own_clock=True)
    if isinstance(clocks, Refusal):
        raise Failure(os.EX_DATAERR, f"refused ({clocks.why}): {clocks.detail}")
    first = trace.started.index
    return (clocks.server.monotonic_us(moment.at(clocks, first)) - clocks.samples.us(first)) / 1e6
