# SPDX-License-Identifier: GPL-2.0-or-later
"""happectl as people use it, with the machine's own logind and polkit."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
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


def test_a_run_is_for_administrators(taught: Happed, alice: Session) -> None:
    words = ["run", "--condition", "fixed-4", "--subject", "p1", "--application", "torcs"]
    refused = alice.run("happectl", *words, "--seconds", "1", "--out", "/dev/null")
    assert refused.returncode == NOT_ALLOWED, refused.stderr
    assert taught.property("State") == "governing"
