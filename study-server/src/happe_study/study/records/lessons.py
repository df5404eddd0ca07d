# SPDX-License-Identifier: GPL-2.0-or-later
"""A record's ladders and levels (docs/traces.md, Speed, Demand and Level), and whether its lessons agree with them.

The laptop computed the lessons. Units are the trace's: kHz, ppm and microseconds, all integers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from happe_contract.faults import Fault
from happe_contract.strict_json import Json

LEVELS = 10
MILLION = 1_000_000


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies in kHz, ascending, and the real speeds of calibrated frequencies."""

    khz: tuple[int, ...]
    speeds: Mapping[int, int]

    def speed(self, khz: int) -> int:
        """The real speed at a frequency, in kHz."""
        return self.speeds.get(khz, khz)

    def level(self, util_ppm: int, cur_khz: int) -> int:
        """The level, 0 to 9, of a domain that consists of this policy, running at `cur_khz`."""
        return min(LEVELS - 1, util_ppm * self.speed(cur_khz) * LEVELS // (MILLION * self.speed(self.khz[-1])))


def ladders(header: Json) -> dict[int, Ladder]:
    """Each policy's ladder, from a header without faults."""
    calibrated = header.get("calibrated_khz", {})
    return {
        int(policy): Ladder(tuple(khz), dict(zip(khz, calibrated.get(policy, khz), strict=True)))
        for policy, khz in header["ladders_khz"].items()
    }


def untaught(header: Json) -> list[int]:
    """The ten kHz of a new UAFP: docs/traces.md, New UAFPs and middle_start."""
    known = header["ladders_khz"].values()
    ref = max(khz[-1] for khz in known)
    lowest = min(khz[0] * ref // khz[-1] for khz in known)
    if header.get("settings", {}).get("middle_start", False):
        fastest = min((int(policy), khz) for policy, khz in header["ladders_khz"].items() if khz[-1] == ref)[1]
        lowest = max(lowest, next(khz for khz in fastest if khz >= ref // 2))
    return [lowest] * LEVELS


def learn(levels: list[int], at: int, khz: int) -> list[int]:
    """Algorithm 4: the UAFP (ten kHz) after learning `khz` at level `at`."""
    below = [min(value, khz) for value in levels[:at]]
    return [*below, khz, *(max(value, khz) for value in levels[at + 1 :])]


def lesson_faults(document: Json) -> Iterator[Fault]:
    """The faults of `learned`, in a record whose header and observations have none."""
    lines = {line["t_us"]: line for line in document["observations"]}
    last = -1
    for number, lesson in enumerate(document["learned"]):
        at = f"/learned/{number}"
        if lesson["t_us"] <= last:
            yield Fault(f"{at}/t_us", "must be later than the lesson before")
        last = lesson["t_us"]
        line = lines.get(lesson["t_us"])
        if line is None:
            yield Fault(f"{at}/t_us", "is not the t_us of an observation")
        elif line["user"] is None or line["app"] is None:
            yield Fault(at, "was learned while HAPPE governed for no user")
        else:
            yield from _disagreements(at, lesson, line)


def _disagreements(at: str, lesson: Json, line: Json) -> Iterator[Fault]:
    """The faults of a lesson that contradicts its observation."""
    seen = next((policy for policy in line["policies"] if policy["id"] == lesson["policy"]), None)
    if seen is None:
        yield Fault(f"{at}/policy", "is not among the observation's policies")
        return
    pressed = any(press["key"] == lesson["key"] for press in line.get("keys", ()))
    if not pressed and not lesson.get("probe", False):
        yield Fault(f"{at}/key", "was not pressed in the observation")
    if seen.get("cur_khz", lesson["cur_khz"]) != lesson["cur_khz"]:
        yield Fault(f"{at}/cur_khz", f"is {seen['cur_khz']} in the observation")
    if (busiest := max(seen["util_ppm"])) != lesson["util_ppm"]:
        yield Fault(f"{at}/util_ppm", f"is {busiest} in the observation")


def profile_faults(document: Json) -> Iterator[Fault]:
    """The faults where profile_after contradicts what the record says was learned."""
    before, after, learned = document["profile_before"], document["profile_after"], document["learned"]
    if learned:
        if after is None or after[learned[-1]["level"]] != learned[-1]["to_khz"]:
            yield Fault("/profile_after", "does not have what was learned last")
    elif after != before and (before is not None or len(set(after)) > 1):  # a new UAFP has one frequency
        yield Fault("/profile_after", "differs from profile_before, though nothing was learned")
