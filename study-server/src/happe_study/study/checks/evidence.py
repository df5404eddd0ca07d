# SPDX-License-Identifier: GPL-2.0-or-later
"""The input of the checks, plain facts from the database and the measures; and their results."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from happe_contract.clocks import DRIFT_PPM
from happe_contract.server_time import ClockSetError, ServerClock, server_clock
from happe_contract.traces import ClockEstimate
from happe_study.study.checks.behaviour import Behaviour
from happe_study.study.documents import Measure
from happe_study.study.runs.machine import State

BLINDED = "This check waits until the study is unblinded, because it would reveal conditions."


class Verdict(StrEnum):
    """The result of a check in a word."""

    OK = "ok"
    SUSPECT = "suspect"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True)
class Finding:
    """A fault: its place (a run, a trace, a device) and a description."""

    where: str
    what: str


@dataclass(frozen=True)
class Check:
    """A check: `looked_at` names its data, `notes` its measurements, `not_told` what it could not check, and why."""

    key: str
    title: str
    looked_at: str
    findings: tuple[Finding, ...] = ()
    not_told: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    told: bool = True  # true if it could check anything

    @property
    def verdict(self) -> Verdict:
        """SUSPECT if there are findings, UNKNOWN if the check could not look at anything, otherwise OK."""
        if self.findings:
            return Verdict.SUSPECT
        return Verdict.OK if self.told else Verdict.UNKNOWN

    def document(self) -> dict[str, Any]:
        """The check as a JSON object."""
        return {
            "check": self.key,
            "title": self.title,
            "verdict": str(self.verdict),
            "looked_at": self.looked_at,
            "notes": list(self.notes),
            "not_told": list(self.not_told),
            "findings": [{"where": each.where, "what": each.what} for each in self.findings],
        }


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things: "1 run", "2 runs"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


MILLION = 1_000_000
SECOND_US = 1_000_000


@dataclass(frozen=True)
class RunFacts:
    """A run. Times are microseconds of the server's clock. `condition` is None before unblinding."""

    code: str
    participant: str
    position: int
    application: str
    state: str
    laptop: str | None = None  # code
    started_us: int | None = None
    ended_us: int | None = None
    condition: str | None = None
    behaviour: Behaviour | None = None

    @property
    def complete(self) -> bool:
        """Whether the run is complete, so that it counts."""
        return self.state == State.COMPLETE

    @property
    def times(self) -> tuple[int, int] | None:
        """Its start and end by the server's clock; None if it has not ended."""
        return None if self.started_us is None or self.ended_us is None else (self.started_us, self.ended_us)


@dataclass(frozen=True)
class Gap:
    """A stretch of lost samples, in microseconds of the server's clock, and the reason."""

    begin_us: int
    end_us: int
    reason: str


@dataclass(frozen=True)
class TraceFacts:
    """A power trace, and what it lacks. `missing` and `damaged` are the numbers of parts."""

    trace: str
    meter: str  # codes
    laptop: str | None
    clock: str
    sealed: bool
    span: tuple[int, int] | None  # by the server's clock; None: unknown
    missing: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The facts for all checks. `clocks`: estimates by (device, clock), ordered by time. `measures` None: no power."""

    unblinded: bool
    runs: Sequence[RunFacts]
    traces: Sequence[TraceFacts]
    clocks: Mapping[tuple[str, str], Sequence[ClockEstimate]]
    measures: Mapping[str, Measure] | None = None
    unread: Sequence[str] = ()  # runs whose records do not open
    doubts: Sequence[
        tuple[str, str]
    ] = ()  # a run, and a part of its profile that does not follow from the earlier facts
    deep: bool = False  # whether `gather` read every byte of the traces
    names: Mapping[str, str] = field(default_factory=dict)  # of devices, by code

    @cached_property
    def twins(self) -> tuple[tuple[str, ...], ...]:
        """Groups of runs with identical records."""
        alike: dict[str, list[str]] = defaultdict(list)
        for run in self.runs:
            if run.behaviour is not None:
                alike[run.behaviour.digest].append(run.code)
        return tuple(tuple(codes) for codes in alike.values() if len(codes) > 1)

    @cached_property
    def single(self) -> list[RunFacts]:
        """The complete runs with a record that no other run has. The check of doubled runs reports the others."""
        doubled = {code for codes in self.twins for code in codes}
        return [run for run in self.runs if run.complete and run.behaviour is not None and run.code not in doubled]

    @cached_property
    def _server_times(self) -> dict[tuple[str, str], ServerClock | None]:
        return {key: known_clock(key[1], estimates) for key, estimates in self.clocks.items()}

    def server_us(self, device: str, clock: str, device_us: int) -> tuple[int, int] | None:
        """A device's time in the server's time, with its greatest error; None: unknown."""
        return at_server(self._server_times.get((device, clock)), device_us)

    def bound_us(self, trace: str, server_us: int) -> int:
        """The greatest error, in microseconds, of a trace's time at a time of the server, by its meter's clock."""
        mine = (self._server_times.get((each.meter, each.clock)) for each in self.traces if each.trace == trace)
        clock = next(mine, None)
        return round(clock.bound_us(clock.monotonic_us(server_us))) if clock else 0


def known_clock(name: str, estimates: Sequence[ClockEstimate]) -> ServerClock | None:
    """The clock that the estimates give; None: no estimates, or somebody set the clock between two of them."""
    try:
        return server_clock(name, estimates)
    except ClockSetError:
        return None


def at_server(clock: ServerClock | None, device_us: int) -> tuple[int, int] | None:
    """A device's time in the server's time, with its greatest error; None: its clock is unknown."""
    return None if clock is None else (clock.server_us(device_us), round(clock.bound_us(device_us)))


def drift_us(apart_us: int) -> int:
    """The most that two clocks may drift apart in `apart_us`, in microseconds."""
    return abs(apart_us) * DRIFT_PPM // MILLION
