# SPDX-License-Identifier: GPL-2.0-or-later
"""User A plays in virtual time: happed's decisions on the kernel are the algorithm's decisions on paper."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from evdev import ecodes

from t61.cpufreq import LADDER_KHZ
from t61.waiting import spend, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from t61.cpufreq import Policy
    from t61.happe import Happed
    from t61.keyboard import Keyboard

VECTOR = Path("../vectors/user-a-plays-torcs.json")
RUNS = Path("/var/lib/happe/runs")
DATABASE = "file:/var/lib/happe/profiles.db?mode=ro"
SUBJECT, APPLICATION = "user-a", "torcs"
AFTERWARDS = [0.05, 0.3, 0.12, 0.25, 0.4, 0.18, 1.0, 0.35, 0.22, 0.02]  # busy parts of the seconds after user A's
SECONDS = 600
LEAD_S = 3  # periods from the trace's first line until the game begins
TOP_KHZ = LADDER_KHZ[-1]
KEYS = {"performance": ecodes.KEY_PROG1, "power": ecodes.KEY_PROG2}


class Run:
    """A study's run by happectl."""

    def __init__(self, condition: str, out: Path, *options: str) -> None:
        """Begin the run. Return when its first period has begun."""
        words = ["--condition", condition, "--subject", SUBJECT, "--application", APPLICATION, "--out", str(out)]
        self.out = out
        before = set(RUNS.glob("*.jsonl"))
        self.log = out.with_suffix(".log").open("w")
        self.process = subprocess.Popen(["happectl", "run", *words, *options], stderr=self.log)
        wait_until(lambda: set(RUNS.glob("*.jsonl")) - before, "the run begins")
        [self.trace] = set(RUNS.glob("*.jsonl")) - before

    def first_line_s(self) -> float:
        """Return when the trace's first period ended, by CLOCK_MONOTONIC."""
        wait_until(lambda: self.trace.read_text().count("\n") > 1, "the first period is over")
        return float(json.loads(self.trace.read_text().splitlines()[1])["t_us"]) / 1e6

    def end(self) -> list[dict[str, Any]]:
        """Stop the run, as Ctrl-C does. Return the trace's observations."""
        self.process.send_signal(2)
        status = self.process.wait(timeout=120)
        self.log.close()
        assert status in (0, 130), self.out.with_suffix(".log").read_text()
        return [json.loads(line) for line in self.out.read_text().splitlines()[1:]]


def replayed(trace: Path) -> list[dict[str, Any]]:
    """Return happe-sim's decisions on a trace."""
    done = subprocess.run(["happe-sim", "replay", trace], check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def scheduled(vector: dict[str, Any]) -> list[float]:
    """Return the busy part of each of user A's seconds. A light second gets the middle of its level."""
    parts = []
    for observation in vector["observations"]:
        [policy] = observation["policies"]
        part, speed = policy["util_ppm"][0] / 1e6, policy["cur_khz"] / TOP_KHZ
        level = min(9, int(part * speed * 10))
        parts.append(1.0 if part > 0.96 else (level + 0.5) / 10 / speed)
    return parts


def play(begin: float, seconds: Sequence[float], presses: Sequence[tuple[float, Callable[[], None]]]) -> None:
    """Be busy on CPU 0 for the given part of each second from `begin`, at its start. Press keys at (seconds, key)."""
    os.sched_setaffinity(0, {0})
    waiting = sorted(presses, key=lambda press: press[0])

    def busy_until(moment: float) -> None:
        while time.monotonic() < moment:
            pass

    def sleep_until(moment: float) -> None:
        spend(max(moment - time.monotonic(), 0))

    for index, part in enumerate(seconds):
        sleep_until(begin + index)
        for end, wait in ((begin + index + part, busy_until), (begin + index + 1, sleep_until)):
            while waiting and begin + waiting[0][0] < end:
                after, press = waiting.pop(0)
                wait(begin + after)
                press()
            wait(end)


def lived(observations: list[dict[str, Any]], decisions: list[dict[str, Any]]) -> None:
    """Assert that each period ran at the frequency decided at the end of the previous one."""
    for before, now, decision in zip(observations, observations[1:], decisions, strict=False):
        decided = decision["targets"][0]["khz"] if decision["targets"] else before["policies"][0]["cur_khz"]
        assert now["policies"][0]["cur_khz"] == decided, now["t_us"]


def what(decision: dict[str, Any]) -> tuple[Any, ...]:
    """Return a decision without its time and user."""
    learned = decision.get("learned")
    return decision["targets"], learned and (learned["level"], learned["khz"], learned["uafp_khz"])


def seconds_at(observations: list[dict[str, Any]]) -> dict[int, int]:
    """Count the periods at each kHz."""
    ran = [observation["policies"][0]["cur_khz"] for observation in observations]
    return {khz: ran.count(khz) for khz in LADDER_KHZ}


@pytest.fixture
def keys(happed: Happed, keyboard: Keyboard) -> Keyboard:
    """The keyboard, which happed has found."""
    happed.wait_for_keyboards(1)
    return keyboard


def test_user_a_s_game_is_decided_as_in_the_paper(policy: Policy, keys: Keyboard, tmp_path: Path) -> None:
    (vector,) = json.loads(VECTOR.read_text())["cases"]
    seconds = scheduled(vector)
    seconds += (AFTERWARDS * SECONDS)[: SECONDS - len(seconds)]
    presses = [
        (key["t_us"] / 1e6, lambda code=KEYS[key["key"]]: keys.press(code))
        for observation in vector["observations"]
        for key in observation.get("keys", [])
    ]

    run = Run("T-HAPPE", tmp_path / "trace.jsonl")
    policy.reset_stats()
    begin = run.first_line_s() + LEAD_S
    play(begin, seconds, presses)
    in_state = policy.time_in_state_s()
    observations = run.end()

    decisions = replayed(run.out)
    lived(observations, decisions)
    of_game = decisions[LEAD_S + 1 :]
    expected = [what(decision) for decision in vector["expected"]]
    assert [what(decision) for decision in of_game[: len(expected)]] == expected
    counted = seconds_at(observations[: len(seconds) + LEAD_S + 1])
    for khz in LADDER_KHZ:
        assert in_state[khz] == pytest.approx(counted[khz], abs=1.0), (khz, in_state, counted)
    final = [d["learned"]["uafp_khz"] for d in vector["expected"] if "learned" in d][-1]
    with sqlite3.connect(DATABASE, uri=True) as database:
        columns = ", ".join(f"khz_{level}" for level in range(10))
        query = f"SELECT {columns} FROM uafp WHERE user = ? AND app = ?"  # noqa: S608 - columns of ours
        [stored] = database.execute(query, (f"subject:{SUBJECT}", APPLICATION))
    assert list(stored) == final
    assert final[-1] == 2_200_000
    assert 1_200_000 in final[:4]
