"""HAPPE's decisions, stated a second time from docs/traces.md alone, to check the governor against.

Written for clearness, not speed, and for valid traces only: it checks nothing. Units are the trace's own: kHz, ppm and
microseconds, all integers; a normalised utilisation is an exact fraction of a million, of the policy's own f_max.

    python3 reference.py [TRACE.jsonl]      # prints what `happe-sim replay` must print
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Json = dict[str, Any]
Name = tuple[str, str]  # user, app

SERIES_US = 1_000_000  # section A.4: a burst is "intervals smaller than one second"
SATURATED_PPM = 950_000  # from here on `fixed_point` looks further


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies `khz`, ascending; `speeds` of calibrated entries; `ref_khz`, the greatest top there is."""

    khz: list[int]
    speeds: dict[int, int]
    ref_khz: int

    def normalised(self, util_ppm: int, khz: int) -> Fraction:
        """Return util * f / f_max of section A.4, in ppm."""
        return Fraction(util_ppm * self.speeds.get(khz, khz), self.speeds.get(self.khz[-1], self.khz[-1]))

    def step(self, khz: int, *, up: bool) -> int:
        """Algorithm 3's f_cur + 1 or f_cur - 1, which stays at the ladder's ends."""
        beyond = [f for f in self.khz if (f > khz if up else f < khz)]
        return (beyond or self.khz[-1:])[0] if up else (beyond or self.khz[:1])[-1]

    def share(self, khz: int) -> int:
        """Return what a UAFP stores for this policy's `khz`: kHz of the fastest ladder."""
        return khz * self.ref_khz // self.khz[-1]

    def entry(self, value: int) -> int:
        """Answer a UAFP's `value`: the lowest entry at or above it, or the top."""
        return next((f for f in self.khz if f * self.ref_khz >= value * self.khz[-1]), self.khz[-1])


@dataclass(frozen=True)
class Measured:
    """One policy on one line: the frequency it ran at, its busiest CPU's utilisation, and that normalised (ppm)."""

    policy: int
    khz: int
    util_ppm: int
    normalised: Fraction


def level_of(normalised: Fraction) -> int:
    """Return the tenth, 0 to 9, of a normalised utilisation in ppm."""
    return min(9, normalised // 100_000)


def learn(levels: list[int], level: int, khz: int) -> list[int]:
    """Algorithm 4: ten kHz in, ten kHz out."""
    below = [min(value, khz) for value in levels[:level]]
    return [*below, khz, *(max(value, khz) for value in levels[level + 1 :])]


@dataclass
class Governor:
    """All that lasts from line to line."""

    ladders: dict[int, Ladder]
    uafps: dict[Name, list[int]]  # given or learned, ten kHz each
    settings: Json
    sham: bool  # whether the keys do nothing
    decided: dict[int, int] = field(default_factory=dict)  # policy -> kHz
    pressed: dict[str, int] = field(default_factory=dict)  # key -> t_us of its last press
    kept: dict[int, int] = field(default_factory=dict)  # policy -> level, for hysteresis
    served: Name | None = None

    def series_begun(self, keys: list[Json]) -> set[str]:
        """Return the keys of which a series of presses begins on this line."""
        begun = set()
        for press in keys:
            key, t_us = press["key"], press["t_us"]
            if key not in self.pressed or t_us - self.pressed[key] >= SERIES_US:
                begun.add(key)
            self.pressed[key] = t_us
        return begun

    def uafp(self, name: Name) -> list[int]:
        """Return the ten kHz known for (user, app), else the warm start, else a new UAFP."""
        if name in self.uafps:
            return self.uafps[name]
        others = [levels for (user, _), levels in self.uafps.items() if user == name[0]]
        if others and self.settings.get("warm_start", False):
            return [sorted(column)[(len(column) - 1) // 2] for column in zip(*others, strict=True)]
        return [min(ladder.share(ladder.khz[0]) for ladder in self.ladders.values())] * 10

    def measure(self, seen: Json) -> Measured:
        """Read one entry of an observation's `policies`."""
        policy, util = seen["id"], max(seen["util_ppm"])
        khz = seen.get("cur_khz", self.decided.get(policy, self.ladders[policy].khz[0]))
        return Measured(policy, khz, util, self.ladders[policy].normalised(util, khz))

    def look_up(self, seen: Measured, uafp: list[int]) -> int:
        """Return r_map of Algorithm 3 in kHz, with `hysteresis_ppm` and `fixed_point` where they are set."""
        ladder, margin = self.ladders[seen.policy], self.settings.get("hysteresis_ppm", 0)
        level = self.kept.get(seen.policy, level_of(seen.normalised))
        if not level * 100_000 - margin <= seen.normalised // 1 < (level + 1) * 100_000 + margin:
            level = level_of(seen.normalised)
        self.kept[seen.policy] = level
        target, last = ladder.entry(uafp[level]), seen.khz
        while self.settings.get("fixed_point", False) and target > last and seen.util_ppm >= SATURATED_PPM:
            last, answer = target, ladder.entry(uafp[level_of(ladder.normalised(seen.util_ppm, target))])
            target = max(last, answer)
        return target

    def press(self, seen: Measured, name: Name, *, up: bool) -> tuple[int, Json]:
        """Step the policy; return its target in kHz and the decision's `learned`."""
        ladder, level = self.ladders[seen.policy], level_of(seen.normalised)
        target = ladder.step(seen.khz, up=up)
        self.kept[seen.policy] = level
        self.uafps[name] = learn(self.uafp(name), level, ladder.share(target))
        levels = self.uafps[name]
        return target, {"user": name[0], "app": name[1], "level": level, "khz": levels[level], "uafp_khz": levels}

    def observe(self, line: Json) -> Json:
        """Decide about one observation: Algorithm 3."""
        begun = self.series_begun(line.get("keys", []))
        name = None if None in (line["user"], line["app"]) else (line["user"], line["app"])
        if name != self.served:
            self.kept.clear()
        self.served = name
        if name is None:
            return {"t_us": line["t_us"], "released": True}
        listed = sorted(map(self.measure, line["policies"]), key=lambda seen: seen.policy)
        targets: dict[int, int] = {}
        learned: Json = {}
        if begun and listed and not self.sham:
            busiest = max(listed, key=lambda seen: seen.normalised)  # the first of equals, so the lowest id
            targets[busiest.policy], taught = self.press(busiest, name, up="performance" in begun)
            learned = {"learned": taught}
        for seen in listed:
            if seen.policy not in targets:
                targets[seen.policy] = self.look_up(seen, self.uafp(name))
        self.decided |= targets
        changes = [{"policy": s.policy, "khz": targets[s.policy]} for s in listed if targets[s.policy] != s.khz]
        return {"t_us": line["t_us"], "targets": changes, **learned}


def start(header: Json) -> Governor:
    """Make the governor that a trace's header describes."""
    ref_khz = max(khz[-1] for khz in header["ladders_khz"].values())
    calibrated = header.get("calibrated_khz", {})
    ladders = {
        int(policy): Ladder(khz, dict(zip(khz, calibrated.get(policy, khz), strict=True)), ref_khz)
        for policy, khz in header["ladders_khz"].items()
    }
    given = {(uafp["user"], uafp["app"]): uafp["khz"] for uafp in header.get("uafp", [])}
    return Governor(ladders, given, header.get("settings", {}), header.get("keys") == "sham")


def decide(lines: Iterable[Json]) -> Iterator[Json]:
    """Yield a decision for each observation of a valid trace, of which the first line is the header."""
    documents = iter(lines)
    governor = start(next(documents))
    yield from map(governor.observe, documents)


def compact(document: Json) -> str:
    """Write a document as one line of a trace or of the program's output, without the newline."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def main() -> None:
    """Read a trace from the file named, or standard input, and print its decisions."""
    with open(sys.argv[1] if sys.argv[1:] else 0, encoding="utf-8") as trace:  # noqa: PTH123 - 0 is standard input
        for decision in decide(map(json.loads, trace)):
            sys.stdout.write(compact(decision) + "\n")


if __name__ == "__main__":
    main()
