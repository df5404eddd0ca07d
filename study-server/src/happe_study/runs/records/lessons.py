# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether what a run record says was learned follows from what it says was measured, by the rules of docs/traces.md.

Units are the trace's: kHz, ppm and microseconds, all integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_contract.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from happe_contract.strict_json import Json

LEVELS = 10
MILLION = 1_000_000


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies in kHz, ascending, and the real speed of those that were calibrated."""

    khz: tuple[int, ...]
    speeds: Mapping[int, int]

    def level(self, util_ppm: int, cur_khz: int) -> int:
        """The level, 0 to 9: docs/traces.md, Level."""
        top = self.khz[-1]
        full = MILLION * self.speeds.get(top, top)
        return min(LEVELS - 1, util_ppm * self.speeds.get(cur_khz, cur_khz) * LEVELS // full)


def ladders(header: Json) -> dict[int, Ladder]:
    """Each policy's ladder, of a header without faults."""
    calibrated = header.get("calibrated_khz", {})
    return {
        int(policy): Ladder(tuple(khz), dict(zip(khz, calibrated.get(policy, khz), strict=True)))
        for policy, khz in header["ladders_khz"].items()
    }


def untaught(header: Json) -> list[int]:
    """A new UAFP: docs/traces.md, New UAFPs."""
    known = header["ladders_khz"].values()
    ref = max(khz[-1] for khz in known)
    return [min(khz[0] * ref // khz[-1] for khz in known)] * LEVELS


def learn(levels: list[int], level: int, khz: int) -> list[int]:
    """Algorithm 4: ten kHz in, ten kHz out."""
    below = [min(value, khz) for value in levels[:level]]
    return [*below, khz, *(max(value, khz) for value in levels[level + 1 :])]


def lesson_faults(document: Json) -> Iterator[Fault]:
    """What is wrong with `learned`, in a record whose header and observations are without faults."""
    known = ladders(document["header"])
    lines = {line["t_us"]: line for line in document["observations"]}
    last = -1
    for number, lesson in enumerate(document["learned"]):
        at = f"/learned/{number}"
        if lesson["t_us"] <= last:
            yield Fault(f"{at}/t_us", "must be later than the lesson before")
        last = lesson["t_us"]
        line = lines.get(lesson["t_us"])
        if line is None:
            yield Fault(f"{at}/t_us", "is no observation's t_us")
        elif line["user"] is None or line["app"] is None:
            yield Fault(at, "was learned while nobody was served")
        else:
            yield from _disagreements(at, lesson, line, known)


def _disagreements(at: str, lesson: Json, line: Json, known: Mapping[int, Ladder]) -> Iterator[Fault]:
    """What a lesson says otherwise than the observation it belongs to."""
    seen = next((policy for policy in line["policies"] if policy["id"] == lesson["policy"]), None)
    if seen is None:
        yield Fault(f"{at}/policy", "is not among the observation's policies")
        return
    if all(press["key"] != lesson["key"] for press in line.get("keys", ())):
        yield Fault(f"{at}/key", "was not pressed in the observation")
    if seen.get("cur_khz", lesson["cur_khz"]) != lesson["cur_khz"]:
        yield Fault(f"{at}/cur_khz", f"is {seen['cur_khz']} in the observation")
    if (busiest := max(seen["util_ppm"])) != lesson["util_ppm"]:
        yield Fault(f"{at}/util_ppm", f"is {busiest} in the observation")
    level = known[lesson["policy"]].level(lesson["util_ppm"], lesson["cur_khz"])
    if level != lesson["level"]:
        yield Fault(f"{at}/level", f"is {level} by util_ppm and cur_khz")


def profile_faults(document: Json) -> Iterator[Fault]:
    """Where the lessons don't lead from profile_before to profile_after."""
    before, after = document["profile_before"], document["profile_after"]
    if not document["learned"]:
        if after != before and not (before is None and after == untaught(document["header"])):
            yield Fault("/profile_after", "is not profile_before, though nothing was learned")
        return
    if before is None and document["header"].get("settings", {}).get("warm_start", False):
        return  # what it began with is not in the record
    levels = before or untaught(document["header"])
    for number, lesson in enumerate(document["learned"]):
        if levels[lesson["level"]] != lesson["from_khz"]:
            yield Fault(f"/learned/{number}/from_khz", f"is {levels[lesson['level']]} by what came before")
        levels = learn(levels, lesson["level"], lesson["to_khz"])
    if after != levels:
        yield Fault("/profile_after", "is not what `learned` makes of profile_before")
