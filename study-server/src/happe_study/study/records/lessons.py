# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a record's lessons agree with its observations and profiles. The laptop computed them (docs/traces.md)."""

from collections.abc import Iterator

from happe_contract.faults import Fault
from happe_contract.strict_json import Json

LEVELS = 10


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
    """The faults where profiles contradict what the record says was learned."""
    learned = document["learned"]
    for number, lesson in enumerate(learned):
        if lesson["uafp_khz"][lesson["level"]] != lesson["to_khz"]:
            yield Fault(f"/learned/{number}/uafp_khz/{lesson['level']}", f"is not to_khz, {lesson['to_khz']}")
    if document["profile_after"] != (learned[-1]["uafp_khz"] if learned else document["profile_before"]):
        yield Fault("/profile_after", "is not what the last lesson left, or without lessons profile_before")
