# SPDX-License-Identifier: GPL-2.0-or-later
"""What a run's record says that the machine did: what a condition must look like, and what power it should have taken.

Pure. A record has passed its contract (runs/records/record.py). Times are microseconds of the record's clock.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_study.runs.records.lessons import ladders, learn, untaught

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from happe_contract.strict_json import Json
    from happe_study.evidence.documents.machines import PowerModel
    from happe_study.runs.records.demand import Ladder

EXACT = ("setspeed", "simulated")  # back-ends that set the frequency that was decided, and no other
OF_ANOTHER = 0.05  # how far the top of a ladder may differ from the model's, as a share, to be of the same machine
FEWEST_LINES = 5  # that two records must have before they can be called alike


@dataclass(frozen=True)
class Behaviour:
    """What a record says. `strayed`: periods that did not follow the profile, of how many; None if unknown.

    `watts` are the ends of sample periods and the model's watts in them; empty: there is no model of this machine.
    `digest` is of what was measured, with times from the run's beginning.
    """

    clock: str
    started_us: int
    ended_us: int
    indicator: bool
    governor: str
    backend: str
    sham: bool
    served: int  # periods in which HAPPE governed
    lessons: int
    profile_before: tuple[int, ...] | None
    profile_after: tuple[int, ...] | None
    ladder: tuple[int, ...]  # of the first policy, kHz
    periods: Mapping[int, int]  # by frequency of the first policy, kHz
    strayed: tuple[int, int] | None
    watts: tuple[tuple[int, float], ...]
    digest: str


def behaviour(record: Json, model: PowerModel | None) -> Behaviour:
    """The content of a record, and the power that a machine's model computes from it, if there is a model."""
    known = ladders(record["header"])
    first = min(known)
    steps = list(_steps(record, first))
    return Behaviour(
        clock=record["clock"],
        started_us=record["started_us"],
        ended_us=record["ended_us"],
        indicator=record["indicator"],
        governor=record["machine"]["governor"],
        backend=record["machine"]["backend"],
        sham=record["header"].get("keys") == "sham",
        served=sum(line["user"] is not None for line in record["observations"]),
        lessons=len(record["learned"]),
        profile_before=_profile(record["profile_before"]),
        profile_after=_profile(record["profile_after"]),
        ladder=known[first].khz,
        periods=Counter(khz for _, khz, _ in steps),
        strayed=_strayed(record, known, first),
        watts=tuple(_watts(steps, known[first], model)) if model and _is_of(known[first], model) else (),
        digest=_digest(record),
    )


def _profile(khz: list[int] | None) -> tuple[int, ...] | None:
    return None if khz is None else tuple(khz)


def _steps(record: Json, policy: int) -> Iterator[tuple[int, int, int]]:
    """End, frequency and busiest CPU (ppm) of each period of a policy; what is left out is as it was before."""
    khz: int | None = None
    for line in record["observations"]:
        seen = next((each for each in line["policies"] if each["id"] == policy), None)
        if seen is None:
            continue
        khz = seen.get("cur_khz", khz)
        if khz is not None:
            yield line["t_us"], khz, max(seen["util_ppm"])


def _is_of(ladder: Ladder, model: PowerModel) -> bool:
    """Whether a ladder's ends are the model's."""
    speeds = [ladder.speeds.get(khz, khz) for khz in (ladder.khz[0], ladder.khz[-1])]
    ends = (model.frequencies_khz[0], model.frequencies_khz[-1])
    return all(abs(speed - end) <= OF_ANOTHER * end for speed, end in zip(speeds, ends, strict=True))


def _watts(steps: list[tuple[int, int, int]], ladder: Ladder, model: PowerModel) -> Iterator[tuple[int, float]]:
    for t_us, khz, ppm in steps:
        yield t_us, model.at(ladder.speeds.get(khz, khz), ppm / 1e4)


def _strayed(record: Json, known: Mapping[int, Ladder], policy: int) -> tuple[int, int] | None:
    """Periods whose frequency is not what the one before, its profile and its presses led to (docs/traces.md).

    Only where the paper's rules are in force by themselves, and the frequency is what was decided.
    """
    header = record["header"]
    by_the_paper = header["mode"] == "paper" and header["feedback"] == "next-sample"
    if len(known) > 1 or not by_the_paper or record["machine"]["backend"] not in EXACT:
        return None
    lessons = {each["t_us"]: each for each in record["learned"]}
    levels = list(record["profile_before"] or untaught(header))
    wanted: int | None = None
    strayed = looked = 0
    for line in record["observations"]:
        if line["user"] is None or line["app"] is None or not line["policies"]:
            wanted = None
            continue
        seen = line["policies"][0]
        khz = seen.get("cur_khz", wanted)
        if khz is None:
            continue
        if wanted is not None:
            looked += 1
            strayed += khz != wanted
        if lesson := lessons.get(line["t_us"]):
            levels = learn(levels, lesson["level"], lesson["to_khz"])
            wanted = lesson["to_khz"]
        else:
            wanted = _up(known[policy], levels[known[policy].level(max(seen["util_ppm"]), khz)])
    return strayed, looked


def _up(ladder: Ladder, khz: int) -> int:
    """The lowest frequency of a ladder at or above the given one, or its top."""
    return next((each for each in ladder.khz if each >= khz), ladder.khz[-1])


def _digest(record: Json) -> str:
    """Of what was measured; of a record with next to nothing in it, of its name."""
    begin = record["started_us"]
    lines = [
        [line["t_us"] - begin, line["policies"], [press["t_us"] - begin for press in line.get("keys", ())]]
        for line in record["observations"]
    ]
    content = lines if len(lines) >= FEWEST_LINES else record["run"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
