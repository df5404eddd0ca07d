# SPDX-License-Identifier: GPL-2.0-or-later
"""The behaviour of the machine according to a run's record, for comparison with the condition and the measured power.

Pure. The record has passed the checks of study/records/record.py. Times are microseconds of the record's clock.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from happe_contract.strict_json import Json
from happe_study.study.documents import PowerModel
from happe_study.study.records.record import knew_profile

EXACT = ("setspeed", "simulated")  # back-ends that set exactly the decided frequency
OF_ANOTHER = 0.05  # a ladder whose ends differ from the model's by a larger share is another machine's
FEWEST_LINES = 5  # records with fewer observations never count as alike


@dataclass(frozen=True)
class Behaviour:
    """A record's content. `strayed`: the periods at another frequency than decided, and all periods; None if unknown.

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
    knew_profile: bool
    ladder: tuple[int, ...]  # of the first policy, kHz
    periods: Mapping[int, int]  # by frequency of the first policy, kHz
    strayed: tuple[int, int] | None
    watts: tuple[tuple[int, float], ...]
    digest: str


def behaviour(record: Json, model: PowerModel | None) -> Behaviour:
    """Read a record's behaviour. `model` computes the power that the run should have taken."""
    header = record["header"]
    first = min(header["ladders_khz"], key=int)
    ladder = header["ladders_khz"][first]
    speeds = dict(zip(ladder, header.get("calibrated_khz", {}).get(first, ladder), strict=True))
    steps = list(_steps(record, int(first)))
    return Behaviour(
        clock=record["clock"],
        started_us=record["started_us"],
        ended_us=record["ended_us"],
        indicator=record["indicator"],
        governor=record["machine"]["governor"],
        backend=record["machine"]["backend"],
        sham=header.get("keys") == "sham",
        served=sum(line["user"] is not None for line in record["observations"]),
        lessons=len(record["learned"]),
        knew_profile=knew_profile(record),
        ladder=tuple(ladder),
        periods=Counter(khz for _, khz, _ in steps),
        strayed=_strayed(record, int(first)),
        watts=tuple(_watts(steps, speeds, model)) if model and _is_of([*speeds.values()], model) else (),
        digest=_digest(record),
    )


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


def _is_of(speeds: Sequence[int], model: PowerModel) -> bool:
    """Whether the ends of a ladder are near the model's, so that both are of the same machine."""
    ends = (model.frequencies_khz[0], model.frequencies_khz[-1])
    return all(abs(speed - end) <= OF_ANOTHER * end for speed, end in zip((speeds[0], speeds[-1]), ends, strict=True))


def _watts(
    steps: list[tuple[int, int, int]], speeds: Mapping[int, int], model: PowerModel
) -> Iterator[tuple[int, float]]:
    for t_us, khz, ppm in steps:
        yield t_us, model.at(speeds.get(khz, khz), ppm / 1e4)


def _strayed(record: Json, policy: int) -> tuple[int, int] | None:
    """Count the periods at another frequency than HAPPE decided on the line before, and the periods compared.

    Returns None if the back-end does not set exact frequencies, or the record has no decisions.
    """
    wanted: int | None = None
    strayed = looked = 0
    for line in record["observations"] if record["machine"]["backend"] in EXACT else ():
        khz = next((each.get("cur_khz", wanted) for each in line["policies"] if each["id"] == policy), None)
        if wanted is not None and khz is not None:
            looked += 1
            strayed += khz != wanted
        decides = "targets" in line and None not in (line["user"], line["app"])
        wanted = {each["policy"]: each["khz"] for each in line["targets"]}.get(policy, khz) if decides else None
    return (strayed, looked) if looked else None


def _digest(record: Json) -> str:
    """The SHA-256 of the measurements. A record with too few observations gets one of its run's code."""
    begin = record["started_us"]
    lines = [
        [line["t_us"] - begin, line["policies"], [press["t_us"] - begin for press in line.get("keys", ())]]
        for line in record["observations"]
    ]
    content = lines if len(lines) >= FEWEST_LINES else record["run"]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
