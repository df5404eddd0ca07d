# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-study-at-home is a unit: it starts and stops with the session, and shows its window from within its sandbox."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.sessions import command
from t61.user_manager import UserUnit
from t61.waiting import wait_until

if TYPE_CHECKING:
    from t61.happe import Happed
    from t61.user_manager import UserManager

STATE = Path("/home/alice/.local/state/happe-study")
SESSION = "light-session.target"
SWAY = "sway.service"
ENROLMENT = {"server": "http://127.0.0.1:9", "study": "field", "device": "laptop", "token": "t"}
DAY = {
    "code": "RUN00001", "position": 1, "application": "days-1-2", "name": "Days 1 and 2", "command": [], "cpu": None,
    "seconds": 1, "practice_seconds": 0, "phase": "main", "state": "started",
}  # fmt: skip
SITTING = {
    "participant": "4HT2XC0N",
    "study": "field",
    "title": "How a computer's speed is controlled",
    "handout_read": True,
    "rating": {"question": "How was it?", "lowest": 1, "highest": 5, "lowest_label": "bad", "highest_label": "good"},
    "guess": None,
    "runs": [DAY],
}
ENDED = 2  # a run's step in the journal


@pytest.fixture
def at_home(manager: UserManager) -> UserUnit:
    """Its unit, which waits for a graphical session."""
    one = UserUnit(manager, "happe-study-at-home.service")
    manager.systemctl("enable", one.unit)
    return one


def joins(manager: UserManager) -> None:
    """Let Alice have joined a study whose server does not answer now. Her first day is over."""
    manager.run("mkdir", "--parents", "--mode=0700", str(STATE))
    (STATE / "device.json").write_text(json.dumps(ENROLMENT))
    command("chown", "alice:", str(STATE / "device.json"))
    manager.run("happe-study", "status")  # makes the journal
    with sqlite3.connect(STATE / "journal.db") as journal:
        journal.execute("INSERT INTO seat VALUES (1, 'token', ?)", [json.dumps(SITTING)])
        journal.execute("INSERT INTO run (code, start_id, step) VALUES ('RUN00001', 'id', ?)", [ENDED])
        journal.execute("INSERT INTO day VALUES ('RUN00001', 0, 0, NULL)")


@pytest.mark.usefixtures("indicator")
def test_it_asks_for_the_rating_of_a_day(manager: UserManager, at_home: UserUnit, happed: Happed) -> None:
    joins(manager)
    manager.systemctl("start", SWAY)
    at_home.starts()
    wait_until(lambda: happed.property("Application") == "happe-study", "its window is in front", 300.0)
    at_home.goes_on()
    manager.systemctl("stop", SESSION)
    at_home.stops()


def test_it_is_not_started_again_where_nobody_has_joined(manager: UserManager, at_home: UserUnit) -> None:
    manager.run("rm", "--recursive", "--force", str(STATE))
    manager.systemctl("start", SWAY)
    manager.wait_for(at_home.unit, "failed")
    state = at_home.state()
    assert (state["ExecMainStatus"], state["NRestarts"]) == ("66", "0")
