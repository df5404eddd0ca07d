"""A second implementation of HAPPE's decisions, made only from docs/traces.md, for comparison with the governor.

It is clear rather than fast. It takes valid traces, and refuses nothing but obsolete settings. Units are those of the
trace: kHz, ppm and microseconds, all integers. A normalised utilisation is relative to the policy's own f_max; it is
an exact fraction, in ppm.

    python3 reference.py [TRACE.jsonl]      # prints what `happe-sim replay` must print
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

Json = dict[str, Any]
Name = tuple[str, str]  # user, app

SERIES_US = 1_000_000  # section A.4: a burst is "intervals smaller than one second"
IDLE_PPM = 10_000  # a CPU below this adds nothing to a domain of several policies
MILLION = 1_000_000
FASTEST_KHZ = 20_000_000  # of the format

# Settings beyond the paper, in microseconds.
HELD_US = 30 * MILLION
FIRST_WAIT_US, LEAST_PRESSED_US, MOST_WAIT_US = 120 * MILLION, 600 * MILLION, 3_600 * MILLION
BUSY_PPM, USED_PPM = 800_000, 100_000
ACCEPTED_US, APART_US, LONGEST_LINE_US = 60 * MILLION, 120 * MILLION, 10 * MILLION
MOST_AGAIN = 6  # 64 steps are any ladder's


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies `khz`, ascending; `speeds` of calibrated entries; `ref_khz`, the greatest top of all."""

    khz: list[int]
    speeds: dict[int, int]
    ref_khz: int

    @property
    def f_max(self) -> int:
        """Return the real speed of the top."""
        return self.speeds.get(self.khz[-1], self.khz[-1])

    def speed(self, khz: int) -> int:
        """Return the real speed at a setting of `khz`."""
        return self.speeds.get(khz, khz)

    def normalised(self, util_ppm: int, speed_khz: int) -> Fraction:
        """Return util * f / f_max of section A.4, in ppm."""
        return Fraction(util_ppm * speed_khz, self.f_max)

    def step(self, khz: int, *, up: bool) -> int:
        """Return Algorithm 3's f_cur + 1 or f_cur - 1, which stays at the ladder's ends."""
        beyond = [f for f in self.khz if (f > khz if up else f < khz)]
        return (beyond or self.khz[-1:])[0] if up else (beyond or self.khz[:1])[-1]

    def share(self, khz: int) -> int:
        """Return what a UAFP stores for this policy's `khz`: kHz of the fastest ladder."""
        return khz * self.ref_khz // self.khz[-1]

    def entry(self, value: int) -> int:
        """Return the entry for a UAFP's `value`: the lowest one at or above it, or the top."""
        return next((f for f in self.khz if f * self.ref_khz >= value * self.khz[-1]), self.khz[-1])


@dataclass(frozen=True)
class Measured:
    """One policy on one line: its setting, its speed below a cap, and each CPU's utilisation."""

    policy: int
    ladder: Ladder
    khz: int
    ran_khz: int | None
    limit_khz: int | None
    cpus: list[int]
    within: int | None = None  # where HAPPE begins: the frequency that it would have set

    @property
    def speed(self) -> int:
        """Return the speed to calculate with."""
        speed = self.ladder.speed(self.khz)
        return speed if self.ran_khz is None else min(self.ran_khz, speed)

    @property
    def normalised(self) -> Fraction:
        """Return the busiest CPU's normalised utilisation."""
        normalised = self.ladder.normalised(max(self.cpus), self.speed)
        return normalised if self.most is None else min(normalised, self.ladder.normalised(MILLION, self.most))

    @property
    def most(self) -> int | None:
        """Return the highest speed that counts, if there is one."""
        return None if self.within is None else self.ladder.speed(self.within)

    @property
    def bound(self) -> bool:
        """Return whether the policy would run faster without HAPPE."""
        if self.ran_khz is None:
            return max(self.cpus) >= BUSY_PPM
        lower = self.ladder.step(self.khz, up=False)
        return max(self.cpus) >= USED_PPM and (lower >= self.khz or self.speed > self.ladder.speed(lower))

    @property
    def stepped(self) -> int:
        """Return the frequency from which a press steps."""
        return self.khz if self.within is None else min(self.khz, self.within)

    @property
    def at_limit(self) -> bool:
        """Return whether somebody else's limit is reached."""
        return self.limit_khz is not None and self.limit_khz <= self.khz

    def limited(self, value: int) -> bool:
        """Return whether somebody else's limit is lower than what a UAFP's `value` gives."""
        return self.limit_khz is not None and self.limit_khz < self.ladder.entry(value)

    @property
    def counted(self) -> list[int]:
        """Return the utilisation of each CPU that is not idle."""
        return [cpu for cpu in self.cpus if cpu >= IDLE_PPM]

    @property
    def work(self) -> int:
        """Return the sum of the CPUs' normalised utilisations, each rounded down."""
        each = (cpu * min(self.speed, self.ladder.f_max) for cpu in self.counted)
        most = MILLION * (FASTEST_KHZ if self.most is None else self.most)
        return sum(min(work, most) // self.ladder.f_max for work in each)


@dataclass(frozen=True)
class Demand:
    """A domain's demand on one line: its listed policies, the fastest of them, and the demand in ppm."""

    policies: list[Measured]
    busiest: Measured
    fastest: Measured  # the busiest of the policies with the highest top: a press steps from its frequency
    normalised: Fraction


def at_mean_speed(listed: list[Measured]) -> list[Measured]:
    """Give the policies without `ran_khz` the mean share of those with one."""
    known = [seen for seen in listed if seen.ran_khz is not None]
    if not (busy := sum(sum(seen.counted) for seen in known)):
        return listed
    share = sum(seen.work for seen in known) * MILLION // busy
    return [
        replace(seen, ran_khz=share * seen.ladder.f_max // MILLION) if seen.ran_khz is None else seen for seen in listed
    ]


def demand_of(domain: list[int], listed: list[Measured]) -> Demand:
    """Return a domain's demand. `listed`: its policies on the line, by ascending ids."""
    listed = at_mean_speed(listed)
    busiest = max(listed, key=lambda seen: seen.normalised)  # the first of equals: the lowest id
    fastest = max(listed, key=lambda seen: (seen.ladder.khz[-1], seen.normalised))
    if len(domain) == 1:
        return Demand(listed, busiest, fastest, fastest.normalised)
    return Demand(listed, busiest, fastest, Fraction(min(MILLION, sum(seen.work for seen in listed))))


def level_of(normalised: Fraction) -> int:
    """Return the tenth, 0 to 9, of a normalised utilisation in ppm."""
    return min(9, normalised // 100_000)


def learn(levels: list[int], level: int, khz: int) -> list[int]:
    """Apply Algorithm 4 to the ten kHz of a UAFP; return the new ten."""
    below = [min(value, khz) for value in levels[:level]]
    return [*below, khz, *(max(value, khz) for value in levels[level + 1 :])]


@dataclass
class Patience:
    """How long HAPPE waits before it tries less for a profile, and how long it has waited, in microseconds."""

    wait_us: int = FIRST_WAIT_US
    quiet_us: int = 0


@dataclass
class Probe:
    """A probe: the UAFP that HAPPE tries, its level, and the time without a refusal."""

    levels: list[int]
    level: int
    begun_us: int
    quiet_us: int = 0


@dataclass
class Governor:
    """The state that lasts from line to line."""

    ladders: dict[int, Ladder]
    domains: list[list[int]]  # policies, the domain of the lowest id first
    uafps: dict[Name, list[int]]  # given or learned, ten kHz each
    settings: Json
    sham: bool  # whether the keys do nothing
    extended: bool  # the mode
    decided: dict[int, int] = field(default_factory=dict)  # policy -> kHz
    pressed: dict[str, int] = field(default_factory=dict)  # key -> t_us of its last press
    served: Name | None = None
    power_saver: bool = False  # on the present line
    patience: dict[Name, Patience] = field(default_factory=dict)
    held: dict[int, dict[int, int]] = field(default_factory=dict)  # a domain's lowest policy -> level -> t_us
    probe: Probe | None = None
    probed_us: int | None = None  # when the last probe began
    governs: bool = False  # the previous line served somebody
    last_us: int | None = None  # of the previous line, if it served the same user and application
    lasted_us: int = 0  # duration of the present line's period
    faster_us: int | None = None  # the previous press that taught, if it was "faster" for the same application
    again: int = 0  # how many presses of "faster" have followed another one soon

    def entry(self, ladder: Ladder, value: int) -> int:
        """Return the entry for a UAFP's `value`, or with `power_saver` the next lower one."""
        return ladder.step(ladder.entry(value), up=False) if self.power_saver else ladder.entry(value)

    def series_begun(self, keys: list[Json]) -> set[str]:
        """Return the keys that begin a series of presses on this line."""
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
        lowest = min(ladder.share(ladder.khz[0]) for ladder in self.ladders.values())
        if self.settings.get("middle_start", False):
            fastest = next(ladder for _, ladder in sorted(self.ladders.items()) if ladder.khz[-1] == ladder.ref_khz)
            start_khz = fastest.ref_khz * self.settings.get("start_percent", 50) // 100
            lowest = max(lowest, fastest.entry(start_khz))
        return [lowest] * 10

    def tried(self, name: Name) -> list[int]:
        """Return the ten kHz for look-ups: a running probe's, else the UAFP's."""
        return self.uafp(name) if self.probe is None else self.probe.levels

    def measure(self, seen: Json) -> Measured:
        """Read one entry of an observation's `policies`."""
        policy = seen["id"]
        ladder = self.ladders[policy]
        khz = seen.get("cur_khz", self.decided.get(policy, ladder.khz[0]))
        return Measured(policy, ladder, khz, seen.get("ran_khz"), seen.get("limit_khz"), seen["util_ppm"])

    def demands_of(self, listed: list[Measured]) -> dict[int, Demand]:
        """Return the demands of domains with a listed policy, by their lowest policies."""
        demands: dict[int, Demand] = {}
        for domain in self.domains:
            if members := [seen for seen in listed if seen.policy in domain]:
                demands[domain[0]] = demand_of(domain, members)
        return demands

    def demands_from_lowest(self, levels: list[int], listed: list[Measured]) -> dict[int, Demand]:
        """Return the demands at which HAPPE, which begins, would have come to rest."""
        reached = {policy: 0 for domain in self.domains for policy in domain}
        while True:
            within = [replace(seen, within=self.entry(seen.ladder, levels[reached[seen.policy]])) for seen in listed]
            demands = self.demands_of(within)
            now = {seen.policy: level_of(each.normalised) for each in demands.values() for seen in each.policies}
            if all(levels[now[policy]] <= levels[reached[policy]] for policy in now):
                return demands
            reached |= now

    def level_in_use(self, domain: int, demand: Demand, t_us: int) -> int:
        """Return the level at which a domain looks up."""
        if self.settings.get("hold", False):
            held_us = self.settings.get("hold_us", HELD_US)
            return max(held for held, seen_us in self.held[domain].items() if t_us - seen_us < held_us)
        return level_of(demand.normalised)

    def lower_step(self, ladder: Ladder, value: int, wait_us: int) -> int:
        """Return what a probe learns instead of `value`."""
        khz = ladder.entry(value)
        for _ in range(max(1, len(ladder.khz) // 8) if wait_us == FIRST_WAIT_US else 1):
            khz = ladder.step(khz, up=False)
        return ladder.share(max(khz, ladder.entry(self.settings.get("floor_khz", 0))))

    def pressed_on(self, patience: Patience, *, up: bool) -> str | None:
        """Note a press that counts; return its effect on a probe."""
        patience.quiet_us = 0
        longer = min(max(patience.wait_us * 2, LEAST_PRESSED_US), MOST_WAIT_US)
        patience.wait_us = longer if up else max(patience.wait_us // 2, FIRST_WAIT_US)
        stopped, self.probe = self.probe, None
        return None if stopped is None else "refused" if up else "ended"

    def may_probe(self, name: Name, level: int, line: Json, *, bound: bool) -> bool:
        """Return whether somebody is there, and neither others' limits nor others' work are in the way."""
        value = self.uafp(name)[level if self.probe is None else self.probe.level]
        listed = map(self.measure, line["policies"])
        used = sum(sum(seen["util_ppm"]) for seen in line["policies"])
        others = self.settings.get("felt", False) and bound and 2 * line.get("front_ppm", 0) <= used
        limited = any(seen.limited(value) for seen in listed)
        return bool(line.get("present", False)) and not others and not limited

    def try_less(self, name: Name, level: int, demand: Demand, line: Json) -> str | None:
        """Count quiet time; begin, end or accept a probe."""
        t_us = line["t_us"]
        bound = not self.settings.get("felt", False) or demand.busiest.bound
        if not self.may_probe(name, level, line, bound=bound):
            ended, self.probe = self.probe, None
            return None if ended is None else "ended"
        if self.power_saver:
            return None
        patience = self.patience[name]
        if self.probe is not None:
            if bound and self.probe.levels[level] == self.probe.levels[self.probe.level]:
                self.probe.quiet_us += self.lasted_us
            if self.probe.quiet_us < ACCEPTED_US or t_us - line.get("idle_us", 0) < self.probe.begun_us:
                return None
            self.uafps[name], self.probe = self.probe.levels, None
            return "accepted"
        patience.quiet_us = min(patience.quiet_us + self.lasted_us, MOST_WAIT_US)
        known = self.uafp(name)
        lower = self.lower_step(demand.fastest.ladder, known[level], patience.wait_us)
        apart = self.probed_us is None or t_us - self.probed_us >= APART_US
        if not bound or patience.quiet_us < patience.wait_us or not apart or lower >= known[level]:
            return None
        patience.quiet_us, self.probed_us = 0, t_us
        self.probe = Probe(learn(known, level, lower), level, t_us)
        return "begun"

    def raised(self, ladder: Ladder, khz: int, part: int, doubled: int = 0) -> int:
        """Return `khz` plus a part of the ladder that doubles so often; or plus one step without a part."""
        for _ in range(max(1, len(ladder.khz) * 2**doubled // part) if part else 1):
            khz = ladder.step(khz, up=True)
        return khz

    def press(self, demand: Demand, name: Name, level: int, line: Json, how: str) -> Json:
        """Step on the domain's fastest ladder; return the decision's `learned`. `how`: the key, or `refused`."""
        up = how != "power"
        listed = list(map(self.measure, line["policies"]))
        seen = demand.fastest
        left = self.settings.get("refused_part", 0) if how == "refused" else 0
        soon = up and self.faster_us is not None and line["t_us"] - self.faster_us < self.settings.get("again_us", 0)
        self.again = min(self.again + 1, MOST_AGAIN) if soon else 0
        self.faster_us = line["t_us"] if up else None
        ran_khz = seen.stepped if seen.ran_khz is None else min(seen.stepped, seen.ran_khz)
        if up:
            target = self.raised(
                seen.ladder, seen.stepped, 0 if left else self.settings.get("faster_part", 0), self.again
            )
        else:
            target = seen.ladder.step(ran_khz, up=False)
        if self.power_saver:  # the learned value whose next lower entry is the target
            above = (khz for khz in seen.ladder.khz if (khz > target if up else khz >= ran_khz))
            target = next(above, seen.ladder.khz[-1])
        value = seen.ladder.share(target)
        known = self.uafp(name)[level]
        if self.extended or any(seen.limited(known) or seen.at_limit for seen in listed):
            value = (max if up else min)(value, known)
        if left:
            value = max(value, seen.ladder.share(self.raised(seen.ladder, seen.ladder.entry(known), left)))
        self.uafps[name] = learn(self.uafp(name), level, value)
        return self.learned(name, level)

    def is_top(self, name: Name, level: int, demand: Demand) -> bool:
        """Return whether the UAFP has nothing faster."""
        ladder = demand.fastest.ladder
        return ladder.entry(self.uafp(name)[level]) == ladder.khz[-1]

    def learned(self, name: Name, level: int) -> Json:
        """Return a decision's `learned`."""
        levels = self.uafps[name]
        return {"user": name[0], "app": name[1], "level": level, "khz": levels[level], "uafp_khz": levels}

    def observe(self, line: Json) -> Json:
        """Decide about one observation: Algorithm 3."""
        begun = self.series_begun(line.get("keys", []))
        name = None if None in (line["user"], line["app"]) else (line["user"], line["app"])
        if name != self.served:
            self.held.clear()
            self.probe = self.last_us = self.faster_us = None
        self.served = name
        self.power_saver = line.get("power_saver", False)
        begins, self.governs = self.settings.get("begin_low", False) and not self.governs, name is not None
        if name is None:
            return {"t_us": line["t_us"], "released": True}
        listed = sorted(map(self.measure, line["policies"]), key=lambda seen: seen.policy)
        demands = self.demands_from_lowest(self.uafp(name), listed) if begins else self.demands_of(listed)
        for lowest, demand in demands.items():
            self.held.setdefault(lowest, {})[level_of(demand.normalised)] = line["t_us"]
        self.lasted_us = 0 if self.last_us is None else min(line["t_us"] - self.last_us, LONGEST_LINE_US)
        self.last_us = line["t_us"]
        values: dict[int, int] = {}
        answer: Json = {}
        if demands:
            first = max(demands, key=lambda domain: demands[domain].normalised)  # of equals the first
            key = "performance" if "performance" in begun else "power"
            acts = bool(begun) and not self.sham
            probe, learned = self.teach(name, first, demands[first], line, key if acts else None)
            answer = ({"learned": learned} if learned else {}) | ({"probe": probe} if probe else {})
        for first, demand in demands.items():
            values[first] = self.tried(name)[self.level_in_use(first, demand, line["t_us"])]
        targets = {
            seen.policy: self.entry(seen.ladder, values[first])
            for first, demand in demands.items()
            for seen in demand.policies
        }
        self.decided |= targets
        changes = [{"policy": s.policy, "khz": targets[s.policy]} for s in listed if targets[s.policy] != s.khz]
        return {"t_us": line["t_us"], "targets": changes, **answer}

    def teach(self, name: Name, domain: int, demand: Demand, line: Json, key: str | None) -> tuple[str | None, Json]:
        """Learn from the press that counts, or from its absence. Return a decision's `probe` and `learned`."""
        patience, probe = self.patience.setdefault(name, Patience()), None
        level = self.level_in_use(domain, demand, line["t_us"])
        if key is not None:
            if self.settings.get("descent", False):
                probe = self.pressed_on(patience, up=key == "performance")
            if self.settings.get("silent_top", False) and key == "performance" and self.is_top(name, level, demand):
                return probe, {}
            return probe, self.press(demand, name, level, line, "refused" if probe == "refused" else key)
        if not self.settings.get("descent", False):
            return None, {}
        tried = self.probe
        probe = self.try_less(name, level, demand, line)
        if tried is None or probe != "accepted":
            return probe, {}
        return probe, self.learned(name, tried.level)


def start(header: Json) -> Governor:
    """Make the governor that a trace's header describes."""
    settings = header.get("settings", {})
    ref_khz = max(khz[-1] for khz in header["ladders_khz"].values())
    calibrated = header.get("calibrated_khz", {})
    ladders = {
        int(policy): Ladder(khz, dict(zip(khz, calibrated.get(policy, khz), strict=True)), ref_khz)
        for policy, khz in header["ladders_khz"].items()
    }
    given = {(uafp["user"], uafp["app"]): uafp["khz"] for uafp in header.get("uafp", [])}
    domains = sorted(map(sorted, header.get("domains", [[policy] for policy in ladders])))
    patience = {
        (each["user"], each["app"]): Patience(each["wait_us"], each["quiet_us"]) for each in header.get("patience", [])
    }
    sham = header.get("keys") == "sham"
    return Governor(ladders, domains, given, settings, sham, header["mode"] == "extended", patience=patience)


def decide(lines: Iterable[Json]) -> Iterator[Json]:
    """Yield a decision for each observation of a valid trace. The first of `lines` is the header."""
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
