# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl as people use it, with the machine's own logind and polkit."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from t61.sessions import command
from t61.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from t61.cpufreq import Policy
    from t61.happe import Happed
    from t61.sessions import Session

NOT_ALLOWED = 77


def happectl(*words: str) -> subprocess.CompletedProcess[str]:
    """Run happectl as root, outside of every session."""
    return subprocess.run(["happectl", *words], check=False, capture_output=True, text=True)


def status(person: Session) -> dict[str, Any]:
    """Return the output of `happectl status --json` for a person."""
    done = person.run("happectl", "status", "--json")
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.fixture
def taught(happed: Happed) -> Happed:
    """Alice has taught something."""
    happed.call("Hold", "ss", "test", "gone at once")  # busctl leaves the bus, and the hold with it
    profile = {"user": "alice", "app": "torcs", "khz": [800_000] * 5 + [1_600_000] * 5}
    document = {"format": "happe-profile/1", "f_max_khz": 2_300_000, "profiles": [profile]}
    happed.call("ImportProfiles", "ss", "alice", json.dumps(document))
    happed.wait_for("governing")
    return happed


def test_people_see_their_own_profiles_and_only_those(taught: Happed, alice: Session, bob: Session) -> None:
    assert taught.pid
    own = alice.run("happectl", "profiles", "list", "--json")
    assert own.returncode == 0, own.stderr
    assert "torcs" in own.stdout
    for words in (["list"], ["show", "torcs"], ["reset", "torcs", "--yes"], ["export"]):
        refused = bob.run("happectl", "profiles", *words, "--user", "alice")
        assert refused.returncode == NOT_ALLOWED, (words, refused.stdout, refused.stderr)
        assert "torcs" not in refused.stdout
    assert "torcs" in alice.run("happectl", "profiles", "list").stdout
    asroot = happectl("profiles", "list", "--user", "alice")
    assert "torcs" in asroot.stdout


def test_only_who_is_at_the_machine_sees_what_it_does(taught: Happed, alice: Session, bob: Session) -> None:
    assert taught.pid
    assert "alice" in json.dumps(status(alice))
    assert "alice" not in json.dumps(status(bob))


def test_feedback_is_for_who_is_at_the_machine(taught: Happed, alice: Session, bob: Session) -> None:
    assert taught.pid
    assert alice.run("happectl", "feedback", "faster").returncode == 0
    assert bob.run("happectl", "feedback", "faster").returncode != 0


def test_a_run_is_for_administrators_and_blind_for_the_participant(
    taught: Happed, policy: Policy, alice: Session, tmp_path: Path
) -> None:
    words = ["run", "--condition", "fixed-4", "--subject", "p1", "--application", "torcs"]
    refused = alice.run("happectl", *words, "--seconds", "1", "--out", "/dev/null")
    assert refused.returncode == NOT_ALLOWED, refused.stderr
    out = tmp_path / "trace.jsonl"
    command_line = ["happectl", *words, "--blind", "--seconds", "4", "--out", str(out)]
    with subprocess.Popen(command_line, stderr=subprocess.PIPE, text=True) as run:
        taught.wait_for("run")
        wait_until(lambda: policy.khz("scaling_cur_freq") == 2_200_000, "the fixed frequency is set")
        told = status(alice)
        assert told["hidden"]
        assert (told["user"], told["application"], told["profile_khz"]) == (None, None, None)
        assert "fixed-" not in json.dumps(told)
        assert "p1" not in json.dumps(told)
        _, errors = run.communicate(timeout=120)
    assert run.returncode == 0, errors
    header, *lines = out.read_text().splitlines()
    assert json.loads(header)["mode"] == "paper"
    assert 2 <= len(lines) <= 5
    assert all(json.loads(line)["user"] is None for line in lines)
    wait_until(lambda: policy.governor == "userspace" and policy.khz("scaling_cur_freq") < 2_200_000, "HAPPE governs")
    written = command("journalctl", "--boot", "--unit=happed.service", "--output=cat")
    assert "fixed-" not in written


def test_doctor_finds_the_daemon_of_power_profiles(taught: Happed, alice: Session) -> None:
    well = alice.run("happectl", "doctor")
    assert "power-profiles-daemon" not in [line for line in well.stdout.splitlines() if "fail" in line]
    command("systemctl", "start", "power-profiles-daemon.service")
    try:
        found = alice.run("happectl", "doctor", "--json")
        (told,) = [check for check in json.loads(found.stdout) if check["check"] == "power-profiles-daemon"]
        assert told["verdict"] == "ok"
        assert "HAPPE follows its power profile" in told["finding"]
    finally:
        command("systemctl", "stop", "power-profiles-daemon.service")
    assert taught.property("State") in ("governing", "contested")
