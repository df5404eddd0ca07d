"""How `happe-sim replay` reports traces that break the format, missing files, and bad usage."""

import json
import os
import re

import pytest

from bad_traces import GOOD, TRACES, spoiled
from program import HappeSim
from reference import compact, decide

EX_OK, EX_USAGE, EX_DATAERR, EX_NOINPUT = 0, os.EX_USAGE, os.EX_DATAERR, os.EX_NOINPUT


def decisions(trace: bytes) -> bytes:
    """Return what happe-sim must print for good lines."""
    lines = [json.loads(line) for line in trace.splitlines()]
    return "".join(compact(decision) + "\n" for decision in decide(lines)).encode() if lines else b""


def test_a_bad_trace_is_refused_where_it_is_bad(happe_sim: HappeSim, subtests: pytest.Subtests) -> None:
    """happe-sim prints the decisions before the error, and a message with file, line and field; exit EX_DATAERR."""
    for case in TRACES["bad"]:
        with subtests.test(case["name"]):
            trace = spoiled(case)

            ran = happe_sim.replay(trace)

            assert ran.returncode == EX_DATAERR, ran
            assert ran.stdout == decisions(b"".join(trace.splitlines(keepends=True)[: case["line"] - 1]))
            said = re.fullmatch(rb"happe-sim: <stdin>:([1-9]\d*): ([^\n]+)\n", ran.stderr)
            assert said, ran.stderr
            assert int(said[1]) == case["line"]
            if case["fields"]:
                field = said[2].decode().partition(": ")[0]
                assert any(field.startswith(name) for name in case["fields"]), field


def test_the_good_trace_is_good(happe_sim: HappeSim) -> None:
    """Otherwise the reports about its spoiled copies would prove nothing."""
    ran = happe_sim.replay(GOOD.encode())
    assert (ran.returncode, ran.stdout, ran.stderr) == (EX_OK, decisions(GOOD.encode()), b"")


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_header_alone_decides_nothing(happe_sim: HappeSim, end: str) -> None:
    """A trace without observations is valid."""
    header = GOOD.splitlines()[0] + end
    ran = happe_sim.replay(header.encode())
    assert (ran.returncode, ran.stdout, ran.stderr) == (EX_OK, b"", b"")


def test_names_of_255_bytes_and_limits_of_every_range_are_good(happe_sim: HappeSim) -> None:
    """happe-sim accepts values just inside the limits."""
    lines = list(map(json.loads, GOOD.splitlines()))
    lines[0]["period_us"] = 3_600_000_000
    lines[0]["ladders_khz"] = {"0": list(range(1, 65)), "1": [20_000_000], "1023": [1]}
    del lines[0]["calibrated_khz"]
    lines[1] |= {"user": "a" * 255, "app": "é" * 127 + "e"}
    lines[1]["policies"] = [
        {"id": 0, "cur_khz": 1, "util_ppm": [0]},
        {"id": 1, "cur_khz": 20_000_000, "util_ppm": [1_000_000] * 1024},
        {"id": 1023, "util_ppm": [1]},
    ]
    trace = "".join(compact(line) + "\n" for line in lines).encode()
    ran = happe_sim.replay(trace)
    assert (ran.returncode, ran.stdout, ran.stderr) == (EX_OK, decisions(trace), b"")
