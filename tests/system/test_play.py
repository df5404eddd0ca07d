# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-sim play`: single runs on request."""

import json
from typing import Any

import pytest

from program import HappeSim

GOOD = {"participant": 2, "application": "torcs", "condition": "T-HAPPE", "user": "alice", "started_us": 7_000_000}


def asked(**changed: object) -> bytes:
    """Return a line that asks for a run. Leaves out fields that are None."""
    said = {name: value for name, value in (GOOD | changed).items() if value is not None}
    return json.dumps(said).encode() + b"\n"


def test_profiles_stay_from_run_to_run_and_times_are_those_asked_for(happe_sim: HappeSim) -> None:
    lines = asked() + asked(condition="O-HAPPE", started_us=200_000_000) + asked(condition="ondemand")
    ran = happe_sim.run("play", "--participants", "3", "--seed", "5", stdin=lines)
    assert (ran.returncode, ran.stderr) == (0, b"")
    who, training, operating, ondemand = (json.loads(line) for line in ran.stdout.splitlines())
    assert len(who["people"]) == 3
    assert (training["header"]["uafp"], training["profile_before"]) == ([], [800_000] * 10)
    assert training["profile_after"] == operating["profile_before"]
    assert operating["header"]["uafp"] == [{"user": "alice", "app": "torcs", "khz": operating["profile_before"]}]
    assert operating["observations"][-1]["t_us"] == 320_000_000
    assert ondemand["observations"][0]["user"] is ondemand["profile_after"] is None
    for run in (training, operating, ondemand):
        replayed = happe_sim.replay(
            b"".join(json.dumps(line).encode() + b"\n" for line in (run["header"], *run["observations"]))
        )
        decided = [json.loads(line).get("targets", []) for line in replayed.stdout.splitlines()]
        assert decided == [line["targets"] for line in run["observations"]]
        mean_w = sum(run["milliwatts"]) / len(run["milliwatts"]) / 1000
        assert len(run["milliwatts"]) * run["step_us"] == 120_000_000
        assert mean_w == pytest.approx(run["mean_w"], abs=0.001)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[]\n", "must be an object"),
        (b"{\n", "not JSON at byte 2"),
        (asked(condition="T-HAPPY"), "condition: unknown"),
        (asked(application="chess"), "application: unknown"),
        (asked(participant=4), "participant: must be 1 to 3, is 4"),
        (asked(participant=-1), "participant: must be 1 to 3, is -1"),
        (asked(user=""), "user: must have 1 to 255 bytes, has 0"),
        (asked(started_us=1e99), "started_us: must be an integer"),
        (asked(started_us=10**16), "started_us: must be 0 to 1000000000000000, is 10000000000000000"),
        (asked(user=None), "user: missing"),
        (asked(colour="red"), "colour: unknown field"),
    ],
)
def test_a_line_that_asks_for_nothing_is_refused_by_its_number_and_field(
    happe_sim: HappeSim, line: bytes, message: str
) -> None:
    ran = happe_sim.run("play", "--participants", "3", stdin=asked() + line)
    assert ran.returncode == 65
    assert message in ran.stderr.decode().removeprefix("happe-sim: <stdin>:2: ")
    assert ran.stderr.count(b"\n") == 1
    found: list[Any] = ran.stdout.splitlines()
    assert len(found) == 2
