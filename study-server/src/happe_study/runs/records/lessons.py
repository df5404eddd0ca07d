# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks whether a run record's lessons follow from its observations, by the rules of docs/traces.md.

Units are the trace's: kHz, ppm and microseconds, all integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from happe_contract.faults import Fault
from happe_study.runs.records.demand import LEVELS, Ladder, Seen, level

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from happe_contract.strict_json import Json


def ladders(header: Json) -> dict[int, Ladder]:
    """Each policy's ladder, from a header without faults."""
    calibrated = header.get("calibrated_khz", {})
    return {
        int(policy): Ladder(tuple(khz), dict(zip(khz, calibrated.get(policy, khz), strict=True)))
        for policy, khz in header["ladders_khz"].items()
    }


def domains(header: Json) -> dict[int, frozenset[int]]:
    """The domain of each policy, from a header without faults."""
    given = header.get("domains") or [[int(policy)] for policy in header["ladders_khz"]]
    return {policy: frozenset(domain) for domain in given for policy in domain}


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


class Rules(NamedTuple):
    """The parts of a header that decide a level: ladders and domains by policy, and the setting hold."""

    known: Mapping[int, Ladder]
    together: Mapping[int, frozenset[int]]
    held: bool

    @classmethod
    def of(cls, header: Json) -> Rules:
        """The rules of a header without faults."""
        return cls(ladders(header), domains(header), header.get("settings", {}).get("hold", False))


def lesson_faults(document: Json) -> Iterator[Fault]:
    """The faults of `learned`, in a record whose header and observations have none."""
    rules = Rules.of(document["header"])
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
            if not lesson.get("probe", False):  # its level is that of the line which began the probe
                yield from _level_faults(at, lesson, line, rules)


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


def _level_faults(at: str, lesson: Json, line: Json, rules: Rules) -> Iterator[Fault]:
    """A fault if a lesson's level differs from its domain's; with the setting hold, only if it is lower.

    If the observation lacks `cur_khz` of a policy in the domain, this does not check the level.
    """
    domain = rules.together.get(lesson["policy"], frozenset())
    listed = {policy["id"]: policy for policy in line["policies"] if policy["id"] in domain}
    if lesson["policy"] not in listed:
        return
    told = {"cur_khz": lesson["cur_khz"]} | ({"util_ppm": [lesson["util_ppm"]]} if len(domain) == 1 else {})
    listed[lesson["policy"]] = listed[lesson["policy"]] | told
    if any("cur_khz" not in policy for policy in listed.values()):
        return
    seen = [
        Seen(rules.known[number], policy["cur_khz"], policy.get("ran_khz"), policy["util_ppm"])
        for number, policy in listed.items()
    ]
    found = level(seen, alone=len(domain) == 1)
    if found != lesson["level"] and not (rules.held and found < lesson["level"]):
        yield Fault(f"{at}/level", f"is {found} by util_ppm and cur_khz")


def profile_faults(document: Json) -> Iterator[Fault]:
    """The faults where the lessons don't lead from the profiles before the run to profile_after.

    In a run of every application each has a profile of its own, which the header has. Such a run has no profile_after.
    """
    header, learned, after = document["header"], document["learned"], document["profile_after"]
    before: dict[Any, list[int] | None] = {None: document["profile_before"]}
    apps: dict[int, str | None] = {}
    if every := document.get("every_application", False):
        before = {uafp["app"]: uafp["khz"] for uafp in header.get("uafp", ())}
        apps = {line["t_us"]: line["app"] for line in document["observations"]}
    elif not learned:
        if after != before[None] and not (before[None] is None and after == untaught(header)):
            yield Fault("/profile_after", "differs from profile_before, though nothing was learned")
        return
    for number, lesson in enumerate(learned):
        app = apps.get(lesson["t_us"])
        if before.get(app) is None and header.get("settings", {}).get("warm_start", False):
            return  # the record does not contain the profile that a warm start began with
        levels = before.get(app) or untaught(header)
        if levels[lesson["level"]] != lesson["from_khz"]:
            yield Fault(f"/learned/{number}/from_khz", f"is {levels[lesson['level']]} by the lessons before")
        before[app] = learn(levels, lesson["level"], lesson["to_khz"])
    if not every and after != before[None]:
        yield Fault("/profile_after", "is not what `learned` makes of profile_before")
