# SPDX-License-Identifier: GPL-2.0-or-later
"""The behaviour of the machine according to a run's record, for comparison with the condition and the measured power.

Pure. The record has passed the checks of study/records/record.py. Times are microseconds of the record's clock.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from happe_contract.strict_json import Json
from happe_study.study.documents import PowerModel
from happe_study.study.records.lessons import Ladder, ladders, learn, untaught

EXACT = ("setspeed", "simulated")  # back-ends that set exactly the decided frequency
OF_ANOTHER = 0.05  # a ladder whose ends differ from the model's by a larger share is another machine's
FEWEST_LINES = 5  # records with fewer observations never count as alike


@dataclass(frozen=True)
class Behaviour:
    """A record's content. `strayed`: the periods that did not follow the profile, and all periods; None if unknown.

    `watts` has the end of each sample period and the model's watts in it; empty without a model of this machine.
    `digest` is the SHA-256 of the measurements, with times counted from the run's beginning.
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
    """Read a record's behaviour. `model` computes the power that the run should have taken."""
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
    """End, frequency and busiest CPU (ppm) of a policy's periods. A missing frequency is that of the last period."""
    khz: int | None = None
    for line in record["observations"]:
        seen = next((each for each in line["policies"] if each["id"] == policy), None)
        if seen is None:
            continue
        khz = seen.get("cur_khz", khz)
        if khz is not None:
            yield line["t_us"], khz, max(seen["util_ppm"])


def _is_of(ladder: Ladder, model: PowerModel) -> bool:
    """Whether the ends of a ladder are near the model's, so that both are of the same machine."""
    speeds = [ladder.speeds.get(khz, khz) for khz in (ladder.khz[0], ladder.khz[-1])]
    ends = (model.frequencies_khz[0], model.frequencies_khz[-1])
    return all(abs(speed - end) <= OF_ANOTHER * end for speed, end in zip(speeds, ends, strict=True))


def _watts(steps: list[tuple[int, int, int]], ladder: Ladder, model: PowerModel) -> Iterator[tuple[int, float]]:
    for t_us, khz, ppm in steps:
        yield t_us, model.at(ladder.speeds.get(khz, khz), ppm / 1e4)


def _strayed(record: Json, known: Mapping[int, Ladder], policy: int) -> tuple[int, int] | None:
    """Count the periods whose frequency does not follow from the last period, profile and presses (docs/traces.md).

    Returns that count and the number of periods compared; None if rules beyond the paper's apply, or the back-end does
    not set exact frequencies.
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
    """The SHA-256 of the measurements. A record with too few observations gets one of its run's code."""
    begin = record["started_us"]
    lines = [
        [line["t_us"] - begin, line["policies"], [press["t_us"] - begin for press in line.get("keys", ())]]
        for line in record["observations"]
    ]
    content = lines if len(lines) >= FEWEST_LINES else record["run"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
