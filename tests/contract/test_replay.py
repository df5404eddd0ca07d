"""`happe-sim replay` and the reference decide alike on long random traces."""

import json
import os
import random
import select
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from patience import PATIENCE_S
from program import HappeSim
from reference import compact, decide

Json = dict[str, Any]
Who = tuple[str | None, str | None]  # user, app

# Long traces, and observations in each.
TRACES, LINES = int(os.environ.get("HAPPE_TRACES", "200")), 1_050
AT_LEAST = TRACES * 1_000  # observations compared in long traces
SLOWEST, FASTEST = 1, 20_000_000  # kHz
FULL = 1_000_000  # ppm
SECOND = 1_000_000  # us

T61 = [800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000]  # section A.3
PEOPLE: list[tuple[str, str]] = [
    ("alice", "torcs"),
    ("alice", "quake3"),
    ("alice", "glest"),
    ("alice", "desktop"),
    ("bob", "torcs"),
    ("bob", "quake3"),
    ("zoë", 'a"b\\c/d\t\x01'),
    ("u" * 255, "é" * 127 + "e"),
    ("\U0001f3ae", "\x7f\u2028"),
]
NOBODY: list[Who] = [(None, None), ("alice", None), (None, "torcs")]
KEYS = ["performance", "power"]


def written(trace: list[Json], *, ascii_only: bool) -> bytes:
    """Write a trace as JSON Lines. `ascii_only` escapes names; this must not change a decision."""
    lines = (json.dumps(line, ensure_ascii=ascii_only) + "\n" for line in trace)
    return "".join(lines).encode()


def compare(happe_sim: HappeSim, trace: list[Json], *, ascii_only: bool = False) -> list[Json]:
    """Fail at the first line on which program and reference differ; return the decisions."""
    decisions = list(decide(trace))
    ran = happe_sim.replay(written(trace, ascii_only=ascii_only))
    assert (ran.returncode, ran.stderr) == (0, b""), f"exit status {ran.returncode}: {ran.stderr.decode()}"
    expected = list(map(compact, decisions))
    for number, (want, got) in enumerate(zip_longest(expected, ran.stdout.decode().split("\n")[:-1]), start=1):
        if want != got:
            pytest.fail(f"observation {number}: {compact(trace[number])}\nreference {want}\nhappe-sim {got}")
    return decisions


@dataclass(frozen=True)
class Shape:
    """The properties of a long trace; `seed` determines its content."""

    seed: int
    machine: str
    policies: int
    domains: str
    capped: bool
    calibrated: bool
    starting: bool
    feedback: str
    settings: Json | None  # none in mode `paper`


SHAPES = st.builds(
    Shape,
    seed=st.integers(0, 2**32 - 1),
    machine=st.sampled_from(["paper", "equal tops", "hybrid", "huge", "any"]),
    policies=st.integers(1, 6),
    domains=st.sampled_from(["none", "one", "some"]),
    capped=st.booleans(),
    calibrated=st.booleans(),
    starting=st.booleans(),
    feedback=st.sampled_from(["next-sample", "immediate"]),
    settings=st.none()
    | st.fixed_dictionaries(
        {},
        optional={
            "warm_start": st.booleans(),
            "middle_start": st.booleans(),
            "hold": st.booleans(),
            "descent": st.booleans(),
            "felt": st.sampled_from([False, False, True]),
            "begin_low": st.booleans(),
            "silent_top": st.booleans(),
            "floor_khz": st.sampled_from([0, 0, 900_000]),
            "start_percent": st.sampled_from([1, 60, 100]),
            "hold_us": st.sampled_from([1, 120 * 10**6]),
            "faster_part": st.sampled_from([1, 16, 64]),
            "again_us": st.sampled_from([60 * 10**6, 3_600 * 10**6]),
            "refused_part": st.sampled_from([1, 32]),
        },
    ),
)


def within_range(khz: int) -> int:
    """Return the kHz of the format's range that is nearest."""
    return min(max(khz, SLOWEST), FASTEST)


class Author:
    """Writes the trace of a Shape, in kHz, ppm and us. Keeps the state that the format's rules of order need."""

    def __init__(self, shape: Shape) -> None:
        """Draw the machine and the starting profiles."""
        self.shape = shape
        self.random = random.Random(shape.seed)
        ids = self.random.sample([0, 1, 2, 4, 10, 1023], shape.policies)
        self.ladders = {policy: self.ladder() for policy in ids}
        self.speeds = {policy: self.calibration(ladder) for policy, ladder in self.ladders.items()}
        self.t_us = 0
        self.last_press: dict[str, int] = {}
        self.who: Who = PEOPLE[0]
        self.restless = self.random.choice([0.02, 0.05, 0.4])  # how often a press or another application comes

    def ladder(self) -> list[int]:
        """Draw a ladder of the shape's kind of machine."""
        draw = self.random
        match self.shape.machine:
            case "paper":
                return T61
            case "equal tops":
                return [*sorted(draw.sample(range(400_000, 4_000_000, 100_000), draw.randint(1, 12))), 4_000_000]
            case "hybrid":
                return sorted(draw.sample(range(300_000, 6_000_000, 33_333), draw.randint(2, 20)))
            case "huge":
                return sorted(draw.sample(range(FASTEST - 40, FASTEST + 1), draw.randint(1, 8)))
            case _:
                return sorted({draw.randint(SLOWEST, FASTEST) for _ in range(draw.choice([1, 2, 5, 64]))})

    def calibration(self, ladder: list[int]) -> list[int] | None:
        """Draw real speeds for a ladder: turbo only, or every entry."""
        if not self.shape.calibrated or self.random.random() < 0.3:
            return None
        if self.random.random() < 0.5 and ladder[-1] + 99_000 <= FASTEST:
            return [*ladder[:-1], ladder[-1] + 99_000]
        return sorted(self.random.sample(range(SLOWEST, FASTEST + 1), len(ladder)))

    def value(self) -> int:
        """Draw a profile's value: on a ladder, near an entry, or anywhere."""
        near = self.random.choice(self.random.choice(list(self.ladders.values())))
        return within_range(self.random.choice([near, near, near - 1, near + 1, self.random.randint(SLOWEST, FASTEST)]))

    def header(self) -> Json:
        """Write the first line."""
        shape = self.shape
        given_to = self.random.sample(PEOPLE, self.random.randint(1, len(PEOPLE))) if shape.starting else []
        header: Json = {
            "format": "happe-trace/1",
            "mode": "paper" if shape.settings is None else "extended",
            "feedback": shape.feedback,
            "period_us": self.random.choice([SECOND, 1, 3_600 * SECOND]),
            "ladders_khz": {str(policy): ladder for policy, ladder in self.ladders.items()},
            "uafp": [{"user": u, "app": a, "khz": sorted(self.value() for _ in range(10))} for u, a in given_to],
        }
        if shape.domains != "none":
            header["domains"] = self.domains()
        calibrated = {str(policy): speeds for policy, speeds in self.speeds.items() if speeds is not None}
        if calibrated:
            header["calibrated_khz"] = calibrated
        if shape.settings is not None:
            header["settings"] = dict(shape.settings)
            if shape.settings.get("descent"):
                header["patience"] = [
                    {
                        "user": user,
                        "app": app,
                        "wait_us": self.random.choice([120, 121, 240, 600, 3_600]) * SECOND,
                        "quiet_us": self.random.choice([0, 119, 120, 600, 3_600]) * SECOND,
                    }
                    for user, app in self.random.sample(PEOPLE, 4)
                ]
        return header

    def domains(self) -> list[list[int]]:
        """Draw the domains: all policies share work, or some with some, in any order."""
        draw, policies = self.random, list(self.ladders)
        draw.shuffle(policies)
        if self.shape.domains == "one":
            return [policies]
        borders = sorted(draw.sample(range(1, len(policies)), draw.randint(0, len(policies) - 1)))
        return [policies[begin:end] for begin, end in pairwise([0, *borders, len(policies)])]

    def ran_khz(self, khz: int) -> Json:
        """Draw the measured speed for a cap of `khz`: mostly equal to it, or below, above or unknown."""
        draw = self.random
        if not self.shape.capped or draw.random() < 0.3:
            return {}
        return {"ran_khz": within_range(draw.choice([khz, khz - 1, khz + 1, khz // 2, draw.randint(1, khz)]))}

    def limit_khz(self, khz: int) -> Json:
        """Draw another program's limit: mostly none, else next to `khz` or anywhere."""
        draw = self.random
        limit = draw.choice([khz - 1, khz, khz + 1, draw.randint(SLOWEST, FASTEST)])
        return {"limit_khz": within_range(limit)} if draw.random() < 0.02 else {}

    def util_ppm(self, policy: int, khz: int) -> int:
        """Draw a utilisation: any, or next to a level's boundary at this policy's `khz`."""
        draw = self.random
        plain = draw.choice([0, FULL, FULL, draw.randint(0, FULL), draw.randint(800_000, FULL)])
        if self.shape.domains != "none" and draw.random() < 0.5:  # a part of a thread that moves
            plain = draw.choice([9_999, 10_000, 100_000, 125_000, draw.randint(0, FULL // 4)])
        if draw.random() < 0.4:
            return plain
        ladder = self.ladders[policy]
        speeds = dict(zip(ladder, self.speeds[policy] or ladder, strict=True))
        normalised = draw.randint(0, 10) * 100_000
        exact = -(-normalised * speeds[ladder[-1]] // speeds.get(khz, khz))  # the least utilisation that reaches it
        return min(max(exact - draw.choice([0, 1]), 0), FULL)

    def policy(self, policy: int) -> Json:
        """Write one entry of `policies`: mostly with a frequency on the ladder, or without one."""
        draw, ladder = self.random, self.ladders[policy]
        khz = draw.choice(ladder)
        off = draw.choice([khz - 1, khz + 1, ladder[-1] + 1, draw.randint(SLOWEST, FASTEST)])
        kind = draw.random()
        khz = within_range(off) if kind < 0.1 else khz
        seen = {"cur_khz": khz} if kind < 0.6 else {}
        cpus = range(draw.choice([1, 1, 2, 4]))
        seen |= self.ran_khz(khz) | self.limit_khz(khz)
        return {"id": policy, **seen, "util_ppm": [self.util_ppm(policy, khz) for _ in cpus]}

    def policies(self) -> list[Json]:
        """Write `policies`: a few missing, in any order, sometimes two alike so that they tie."""
        draw = self.random
        listed = [self.policy(policy) for policy in self.ladders if draw.random() < 0.93]
        draw.shuffle(listed)
        if len(listed) > 1 and draw.random() < 0.15:
            listed[1] = {**listed[0], "id": listed[1]["id"]}
        return listed

    def press(self) -> Json:
        """Write a press, if time allows about a second after its key's last."""
        key = self.random.choice(KEYS)
        gap = self.random.choice([0, 1, SECOND // 2, SECOND - 1, SECOND, SECOND + 1, 3 * SECOND])
        last = self.last_press.get(key, 0)
        near_the_end = max(last, self.t_us - self.random.choice([0, 1, SECOND // 3]))
        self.last_press[key] = last + gap if last + gap <= self.t_us and self.random.random() < 0.7 else near_the_end
        return {"t_us": self.last_press[key], "key": key}

    def observation(self) -> Json:
        """Write the next line."""
        draw = self.random
        self.t_us += draw.choice(
            [10 * SECOND - 1, 10 * SECOND, 60 * SECOND]
            if self.restless < 0.1
            else [1, 999, SECOND // 4, SECOND - 1, SECOND, SECOND, SECOND, SECOND + 1, 60 * SECOND]
        )
        if draw.random() < 0.08 * min(1, 3 * self.restless) or self.who in NOBODY:
            self.who = draw.choice([*PEOPLE, *NOBODY])
        line: Json = {"t_us": self.t_us, "user": self.who[0], "app": self.who[1], "policies": self.policies()}
        if draw.random() < 0.2:
            line["power_saver"] = draw.random() < 0.8
        if draw.random() < 0.97:
            line["present"] = draw.random() < 0.98
            line["idle_us"] = draw.choice([0, 0, SECOND, 60 * SECOND, 900 * SECOND])
            line["front_ppm"] = draw.choice([0, 100_000, FULL, 4_096 * FULL, 4_096 * FULL, 4_096 * FULL])
        if draw.random() < self.restless:
            line["keys"] = [self.press() for _ in range(draw.choice([0, 1, 1, 2, 3]))]
        return line

    def lines(self, count: int) -> Iterator[Json]:
        """Write the header and `count` observations."""
        yield self.header()
        for _ in range(count):
            yield self.observation()


def features(shape: Shape, decisions: list[Json]) -> Counter[str]:
    """Count the features that a trace exercises, so that the test notices a generator that stops exercising one."""
    counted = Counter[str](
        nobody=sum("released" in each for each in decisions),
        learned=sum("learned" in each for each in decisions),
        unchanged=sum(each.get("targets") == [] for each in decisions),
        several=sum(len(each.get("targets", [])) > 1 for each in decisions),
    )
    traits = {
        shape.machine,
        shape.feedback,
        f"domains {shape.domains}",
        f"capped {shape.capped}",
        f"calibrated {shape.calibrated}",
        f"starting {shape.starting}",
    }
    traits |= {"paper mode"} if shape.settings is None else {f"{key} {bool(on)}" for key, on in shape.settings.items()}
    counted |= Counter(f"probe {each['probe']}" for each in decisions if "probe" in each)
    return counted + Counter(dict.fromkeys(traits, len(decisions)))


@pytest.mark.slow
def test_long_traces_are_decided_alike(happe_sim: HappeSim) -> None:
    """Each trace has 1,000 observations or more; together they have every kind of machine, setting and feedback."""
    compared, exercised = 0, Counter[str]()

    @settings(max_examples=TRACES, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
    @given(shape=SHAPES)
    def check(shape: Shape) -> None:
        nonlocal compared
        decisions = compare(happe_sim, list(Author(shape).lines(LINES)), ascii_only=bool(shape.seed % 2))
        compared += len(decisions)
        exercised.update(features(shape, decisions))

    check()

    print(f"{compared} observations compared, 0 differences: {dict(sorted(exercised.items()))}")
    assert compared >= AT_LEAST
    events = ("begun", "accepted", "refused", "ended")
    assert min(exercised.pop(f"probe {event}", 0) for event in events) >= 5
    assert all(count >= LINES for count in exercised.values())
    decided, machines, feedbacks, domains, without_settings = 4, 5, 2, 3, 1
    on_or_off = ["capped", "calibrated", "starting", "warm_start", "middle_start", "hold", "descent"]
    on_or_off += ["felt", "begin_low", "silent_top", "floor_khz"]
    numbers = 5
    assert len(exercised) == decided + machines + feedbacks + domains + without_settings + 2 * len(on_or_off) + numbers


@pytest.mark.parametrize("standard_input", ["-", "/dev/stdin"])
def test_a_line_from_a_pipe_is_answered_before_the_next_is_written(happe_sim: HappeSim, standard_input: str) -> None:
    header = {
        "format": "happe-trace/1",
        "mode": "paper",
        "feedback": "next-sample",
        "period_us": SECOND,
        "ladders_khz": {"0": T61},
        "uafp": [],
    }
    seen = [
        {"t_us": second * SECOND, "user": "alice", "app": "torcs", "policies": [{"id": 0, "util_ppm": [FULL]}]}
        for second in range(1, 4)
    ]
    decisions = list(decide([header, *seen]))
    command = [str(happe_sim.program), "replay", standard_input]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(written([header], ascii_only=True))
        for line, decision in zip(seen, decisions, strict=True):
            process.stdin.write(written([line], ascii_only=True))
            process.stdin.flush()
            assert select.select([process.stdout], [], [], PATIENCE_S)[0], f"no decision on {compact(line)}"
            assert process.stdout.readline().decode() == compact(decision) + "\n"
