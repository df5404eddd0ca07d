# SPDX-License-Identifier: GPL-2.0-or-later
"""Sealed runs on a real kernel: what governs, who can see it, and what the run's facts say about the machine."""

from __future__ import annotations

import base64
import ctypes
import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from t61.cpufreq import tunables
from t61.sessions import command
from t61.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from t61.cpufreq import Policy
    from t61.happe import Happed
    from t61.sessions import Session

STUDY, RUN, BYTES = "paper-a3", "7ZK3M9QA", 512
TUNABLES = {"sampling_rate_us": 80_000, "up_threshold": 80}
PRIVATE = ("Targets", "User", "Application", "Profile", "Sample")


def sealed(key: bytes, condition: str) -> str:
    """Seal a condition with libsodium, as the study server does. Return it in base64."""
    happe = condition.endswith("-HAPPE")
    document: dict[str, Any] = {"format": "happe-condition/1", "study": STUDY, "run": RUN, "subject": "4HT2XC0N"}
    document |= {"application": "torcs", "condition": condition, "indicator": condition == "B-HAPPE"}
    document |= {"keys": "act"} if happe else {"keys": "sham", **(TUNABLES if condition == "ondemand" else {})}
    bare = json.dumps({**document, "pad": ""}, separators=(",", ":"))
    plain = json.dumps({**document, "pad": "." * (BYTES - len(bare))}, separators=(",", ":")).encode()
    sodium = ctypes.CDLL("libsodium.so.23")
    box = ctypes.create_string_buffer(BYTES + 48)
    assert sodium.crypto_box_seal(box, plain, ctypes.c_ulonglong(BYTES), key) == 0
    return base64.b64encode(box.raw).decode()


@pytest.mark.parametrize("condition", ["ondemand", pytest.param("O-HAPPE", marks=pytest.mark.ci), "B-HAPPE", "fixed-2"])
def test_a_sealed_run_governs_as_its_condition_says_and_tells_nobody(
    happed: Happed, policy: Policy, alice: Session, tmp_path: Path, condition: str
) -> None:
    governor = "ondemand" if condition == "ondemand" else "userspace"
    key = json.loads(command("happectl", "study", "key", "--json"))["public_key"]
    words = ["happectl", "run", "--sealed", "-", "--study", STUDY, "--run", RUN, "--json"]
    words += ["--out", str(tmp_path / "trace.jsonl")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdin
        running.stdin.write(sealed(base64.b64decode(key), condition))
        running.stdin.close()
        running.stdin = None
        happed.wait_for("run")
        wait_until(lambda: condition != "fixed-2" or policy.khz("scaling_setspeed") == 1_200_000, "it is fixed")
        wait_until(lambda: policy.governor == governor, f"{governor} governs")
        if condition == "ondemand":
            assert tunables().items() >= {"ondemand/sampling_rate": "80000", "ondemand/up_threshold": "80"}.items()
        assert happed.property("Indicator") is (condition == "B-HAPPE")
        assert not any(happed.property(name) for name in PRIVATE)  # root, too
        assert json.loads(alice.run("happectl", "status", "--json").stdout)["hidden"] is True
        code = happed.property("Run")
        running.send_signal(2)
        printed, _ = running.communicate(timeout=120)
    assert json.loads(printed)["run"] == code

    facts = json.loads(command("happectl", "run", "facts", code))
    machine = facts["machine"]
    assert (machine["driver"], machine["backend"], machine["governor"]) == ("acpi-cpufreq", "setspeed", governor)
    if condition == "ondemand":
        assert machine["tunables"].items() >= {"sampling_rate": "80000", "up_threshold": "80"}.items()
    assert facts["clock"].startswith("monotonic:")
    assert facts["started_us"] < facts["ended_us"]
    told = [line["MESSAGE"] for line in happed.journal() if code in line["MESSAGE"]]
    assert told == [f"run {code} begins", f"run {code} ends"]
