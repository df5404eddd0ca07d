# SPDX-License-Identifier: GPL-2.0-or-later
"""A run as the governor saw it, second by second: a happe-trace/1 of one policy with two CPUs (docs/traces.md)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from checked import BadDataError, Field, parse_json, read_text

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "happe-trace/1"
KEYS = ("performance", "power")
SERIES_GAP_US = 1_000_000  # a press sooner than this after the same key's last one belongs to its series (A.4)
MOST_KHZ = 20_000_000
MOST_US = 2**63 - 1
US_PER_S = 1e6
PPM_PER_PERCENT = 1e4
CPUS = 2  # of the T61


@dataclass(frozen=True)
class Press:
    """A key press at a time in seconds."""

    t_s: float
    key: str  # of KEYS
    counts: bool  # whether it begins a series; the governor acts on no other


@dataclass(frozen=True)
class Trace:
    """A run of n samples."""

    ladder_khz: tuple[int, ...]
    t_s: tuple[float, ...]  # (n,) ends of the periods
    khz: tuple[int, ...]  # (n,) the frequency sampled at t_s
    util_percent: tuple[tuple[float, float], ...]  # (n, 2) of CPU 0 and CPU 1, over the period that ends at t_s
    presses: tuple[Press, ...]

    def counted(self, key: str) -> int:
        """How many series of this key the governor counts."""
        return sum(press.counts for press in self.presses if press.key == key)


def trace_path(folder: Path, participant: int, application: str, condition: str) -> Path:
    """Return where happe-sim writes a run's trace; participants count from 1."""
    return folder / "traces" / f"participant-{participant:02}-{application}-{condition}.jsonl"


def read_trace(path: Path) -> Trace:
    """Read a trace of a machine whose two CPUs share one frequency."""
    lines = read_text(path).removesuffix("\n").split("\n")
    if not lines[1:]:
        message = f"{path}: line {len(lines)}: a header and at least one observation must follow"
        raise BadDataError(message)
    ladder = _ladder(parse_json(lines[0], f"{path}: line 1"))
    samples = [_Sample.read(parse_json(line, f"{path}: line {i}")) for i, line in enumerate(lines[1:], start=2)]
    for i, (before, after) in enumerate(pairwise(samples), start=3):
        if after.t_us <= before.t_us:
            message = f"{path}: line {i}: t_us: is {after.t_us}, must be greater than the line's before"
            raise BadDataError(message)
    return Trace(
        ladder_khz=ladder,
        t_s=tuple(sample.t_us / US_PER_S for sample in samples),
        khz=tuple(sample.khz for sample in samples),
        util_percent=tuple(sample.util_percent for sample in samples),
        presses=_presses([press for sample in samples for press in sample.presses]),
    )


def _ladder(header: Field) -> tuple[int, ...]:
    header.at("format").one_of([FORMAT])
    header.only(["format", "mode", "feedback", "period_us", "ladders_khz", "uafp", "calibrated_khz", "settings"])
    ladders = header.at("ladders_khz")
    ladders.only(["0"])
    ladder = tuple(item.integer(1, MOST_KHZ) for item in ladders.at("0").items())
    if not ladder or any(below >= above for below, above in pairwise(ladder)):
        ladders.at("0").refuse("must hold frequencies in kHz, ascending")
    return ladder


@dataclass(frozen=True)
class _Sample:
    t_us: int
    khz: int
    util_percent: tuple[float, float]
    presses: tuple[tuple[int, str], ...]

    @classmethod
    def read(cls, line: Field) -> _Sample:
        line.only(["t_us", "user", "app", "policies", "keys"])
        t_us = line.at("t_us").integer(0, MOST_US)
        policies = line.at("policies").items()
        if len(policies) != 1:
            line.at("policies").refuse(f"has {len(policies)} members, this report draws machines with 1")
        policies[0].at("id").integer(0, 0)
        cpus = [item.integer(0, 1_000_000) / PPM_PER_PERCENT for item in policies[0].at("util_ppm").items()]
        if len(cpus) != CPUS:
            policies[0].at("util_ppm").refuse(f"has {len(cpus)} members, this report draws machines with {CPUS} CPUs")
        keys = line.at("keys").items() if line.has("keys") else []
        return cls(
            t_us=t_us,
            khz=policies[0].at("cur_khz").integer(1, MOST_KHZ),
            util_percent=(cpus[0], cpus[1]),
            presses=tuple((key.at("t_us").integer(0, t_us), key.at("key").one_of(KEYS)) for key in keys),
        )


def _presses(timed: list[tuple[int, str]]) -> tuple[Press, ...]:
    """Mark the presses that begin a series: those at least SERIES_GAP_US after the last of the same key."""
    last: dict[str, int] = {}
    presses = []
    for t_us, key in timed:
        counts = key not in last or t_us - last[key] >= SERIES_GAP_US
        presses.append(Press(t_us / US_PER_S, key, counts))
        last[key] = t_us
    return tuple(presses)
