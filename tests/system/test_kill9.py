# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at any moment loses no acknowledged lesson, duplicates none, and leaves none half undone.

A killed process's writes stay in the page cache. So these tests prove that every intermediate state is sound, but not
that it survives a loss of power. For that the database has synchronous=FULL.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patience import spend, until

if TYPE_CHECKING:
    from happed_world import Client, Happed

pytestmark = pytest.mark.slow

ROUNDS = 50
LEVELS = 10
LOWEST_KHZ = 800_000
BIN = Path(os.environ.get("HAPPE_BIN", Path(__file__).parents[2] / "build" / "bin"))

Whom = tuple[str, str]


@dataclass
class Acknowledged:
    """The learner's output: for each sequence number the profile's owner, and the profile after the lesson."""

    profiles: dict[int, tuple[Whom, list[int]]] = field(default_factory=dict)

    def add(self, line: str) -> None:
        """Take one of its lines, "SEQ USER APP KHZ_0 ... KHZ_9"."""
        seq, user, app, *khz = line.split()
        assert int(seq) not in self.profiles, f"event {seq} was acknowledged twice"
        self.profiles[int(seq)] = ((user, app), [int(value) for value in khz])


def learner() -> Path:
    program = BIN / "happe-learner"
    if not program.exists():
        pytest.fail(f"{program} is missing: run make build")
    return program


def kill_while_learning(program: Path, database: Path, moment: random.Random, said: Acknowledged) -> None:
    """Start the learner, kill it 50 to 250 ms after its first lesson, and read all of its output."""
    command = [str(program), str(database), str(moment.randrange(2**32))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stderr
        first = process.stdout.readline()
        try:
            process.wait(timeout=moment.uniform(0.050, 0.250))
        except subprocess.TimeoutExpired:
            process.kill()
        # Not communicate(), which forgets what readline() has read ahead.
        rest, complaint = process.stdout.read(), process.stderr.read()
    assert process.returncode == -signal.SIGKILL, complaint
    lines = (first + rest).splitlines(keepends=True)
    for line in lines:
        assert line.endswith("\n"), f"half a line: {line}"
        said.add(line)


def learn(khz: list[int], level: int, target: int) -> list[int]:
    """Algorithm 4 of the paper: higher levels get at least the target, lower ones at most."""
    lower = [min(value, target) for value in khz[:level]]
    higher = [max(value, target) for value in khz[level + 1 :]]
    return [*lower, target, *higher]


def check(path: Path, said: Acknowledged) -> int:
    """Compare the database with the acknowledged lessons. Return how many events it holds."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = database.execute("SELECT * FROM uafp").fetchall()
        events = database.execute(
            "SELECT seq, user, app, level, from_khz, to_khz, before_state FROM learning_event"
            " JOIN uafp ON uafp.id = who ORDER BY seq"
        ).fetchall()
    stored = {(user, app): khz for _, user, app, _, *khz, _, _ in rows}
    assert [seq for seq, *_ in events] == list(range(1, len(events) + 1)), "an event is missing or there twice"
    assert said.profiles.keys() <= {seq for seq, *_ in events}, "an acknowledged event is lost"
    replayed: dict[Whom, list[int]] = {}
    states: dict[Whom, str] = {}
    for seq, user, app, level, from_khz, to_khz, state in events:
        assert states.get((user, app)) == state, f"event {seq} has not kept the state before it"
        states[user, app] = json.dumps({"wait_us": 120_000_000 + to_khz, "quiet_us": 0}, separators=(",", ":"))
        before = replayed.get((user, app), [LOWEST_KHZ] * LEVELS)
        assert before[level] == from_khz, f"event {seq} did not start from what was stored"
        replayed[user, app] = learn(before, level, to_khz)
        assert said.profiles.get(seq, ((user, app), replayed[user, app])) == ((user, app), replayed[user, app])
    assert stored == replayed
    assert {(user, app): state for _, user, app, *_, state in rows} == states
    assert all(khz == sorted(khz) for khz in stored.values())
    return len(events)


def test_kill_9_loses_no_acknowledged_lesson_and_doubles_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, database = learner(), tmp_path / "profiles.db"
    moment, said, stored = random.Random(9), Acknowledged(), 0
    for finished in range(1, ROUNDS + 1):
        before = stored
        kill_while_learning(program, database, moment, said)
        stored = check(database, said)
        assert stored > before, "nothing was learned in this round"
        assert stored - len(said.profiles) <= finished, "more than the lesson in progress was not acknowledged"
    with capsys.disabled():
        print(f"\n{ROUNDS} kills, {len(said.profiles)} events acknowledged, {stored} stored")


EVENTS = "seq, undoes, level, to_khz, " + ", ".join(f"before_{level}" for level in range(LEVELS))


def standing_lessons(path: Path) -> list[tuple[int, list[int]]]:
    """Replay the one profile's history, and compare. Return the lessons that stand, with the profiles before them."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        events = database.execute(f"SELECT {EVENTS} FROM learning_event ORDER BY seq").fetchall()  # noqa: S608 - ours
        stored = [khz for _, _, _, _, *khz, _, _ in database.execute("SELECT * FROM uafp")]
    profile = [LOWEST_KHZ] * LEVELS
    standing: list[tuple[int, list[int]]] = []
    for seq, undoes, level, to_khz, *before in events:
        if undoes is None:
            assert before == profile
            standing.append((seq, before))
            profile = learn(before, level, to_khz)
        else:
            undone, profile = standing.pop()
            assert undone == undoes
    assert stored == ([profile] if events else [])
    return standing


def teach_undo_and_kill(happed: Happed, moment: random.Random) -> None:
    """Let the learner learn and undo some lessons, and kill it at any moment."""
    me = happed.serves()
    before = me("ListEvents", "ssxu", "", "desktop", 0, 9_999)
    me("Feedback", "s", moment.choice(["performance", "power"]))
    if moment.random() < 0.8:
        until(lambda: len(me("ListEvents", "ssxu", "", "desktop", 0, 9_999)) > len(before), "it is learned")
        if moment.random() < 0.3:
            me.send("Undo", "ssu", "", "", moment.randint(1, 2))
    spend(moment.uniform(0, 0.01))
    happed.kill()


def undo_all(me: Client, lessons: list[tuple[int, list[int]]]) -> None:
    """Undo one lesson at a time, down to the first."""
    for seq, before in reversed(lessons):
        [(_, (number, *_))] = me("Undo", "ssu", "", "", 1)
        assert number == seq
        assert me("GetProfile", "ss", "", "desktop") == before
    assert me.refused("Undo", "ssu", "", "", 1)[0] == "NotFound"


def test_happed_undoes_whole_lessons_whenever_it_is_killed(happed: Happed, capsys: pytest.CaptureFixture[str]) -> None:
    moment, database = random.Random(18), happed.folder / "p.db"
    for _ in range(ROUNDS):
        teach_undo_and_kill(happed, moment)
        standing_lessons(database)
        happed.start()
    lessons = standing_lessons(database)
    undo_all(happed.serves(), lessons)
    assert standing_lessons(database) == []
    with capsys.disabled():
        print(f"\n{ROUNDS} kills, {len(lessons)} lessons left to undo")
