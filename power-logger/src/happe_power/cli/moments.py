# SPDX-License-Identifier: GPL-2.0-or-later
"""The times that the commands show, export, measure and align accept, and their meaning in a trace."""

from __future__ import annotations

import datetime as dt
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from happe_cli.errors import Failure

if TYPE_CHECKING:
    from happe_contract.cuts import Clocks
    from happe_power.cli.host import Host
    from happe_power.trace import Trace

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
        found_us = (found - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
        if found_us >= not_before_us:
            return found_us
    return found_us


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
        return Moment(server_us=(moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1))


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
