# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at any moment loses no acknowledged lesson, duplicates none, and leaves none half undone.

A killed process's writes stay in the page cache. So this test proves that every intermediate state is sound, but not
that it survives a loss of power. For that the database has synchronous=FULL.
"""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from happed_wire import MEMBER
from happed_world import Client, Happed
from patience import spend, until

pytestmark = pytest.mark.slow

ROUNDS = 50
LEVELS = 10
LOWEST_KHZ = 800_000


def learn(khz: list[int], level: int, target: int) -> list[int]:
    """Algorithm 4 of the paper: higher levels get at least the target, lower ones at most."""
    lower = [min(value, target) for value in khz[:level]]
    higher = [max(value, target) for value in khz[level + 1 :]]
    return [*lower, target, *higher]


EVENTS = "seq, undoes, level, to_khz, " + ", ".join(f"before_{level}" for level in range(LEVELS))


def standing_lessons(path: Path, told: int = 0) -> list[tuple[int, list[int]]]:
    """Replay the one profile's history, and compare. Return the lessons that stand, with the profiles before them.

    `told`: how many events happed has told of.
    """
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        events = database.execute(f"SELECT {EVENTS} FROM learning_event ORDER BY seq").fetchall()  # noqa: S608 - ours
        stored = [khz for _, _, _, _, *khz, _, _ in database.execute("SELECT * FROM uafp")]
    assert [seq for seq, *_ in events] == list(range(1, len(events) + 1)), "an event is missing or there twice"
    assert len(events) >= told, "an event that happed told of is lost"
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


def teach_undo_and_kill(happed: Happed, moment: random.Random) -> int:
    """Let happed learn and undo some lessons, and kill it at any moment. Return how many events it has told of."""
    me = happed.serves()
    me.listen()

    def told() -> int:
        return len(me("ListEvents", "ssxu", "", "desktop", 0, 9_999))

    events = before = told()
    me("Feedback", "s", moment.choice(["performance", "power"]))
    if moment.random() < 0.8:
        events = until(lambda: (count := told()) > before and count, "it is learned")
        if moment.random() < 0.3:
            me.send("Undo", "ssu", "", "", moment.randint(1, 2))
    spend(moment.uniform(0, 0.01))
    happed.kill()
    me.peer.bus("GetId")  # all signals are here
    heard = [message for message in me.peer.signals if message.fields[MEMBER] == "KeyCounted"]
    return max(events, before + len(heard))


def undo_all(me: Client, lessons: list[tuple[int, list[int]]]) -> None:
    """Undo one lesson at a time, down to the first."""
    for seq, before in reversed(lessons):
        [(_, (number, *_))] = me("Undo", "ssu", "", "", 1)
        assert number == seq
        assert me("GetProfile", "ss", "", "desktop") == before
    assert me.refused("Undo", "ssu", "", "", 1)[0] == "NotFound"


def test_kill_9_loses_and_doubles_no_lesson_and_undoes_whole_ones(
    happed: Happed, capsys: pytest.CaptureFixture[str]
) -> None:
    moment, database = random.Random(18), happed.folder / "p.db"
    for _ in range(ROUNDS):
        told = teach_undo_and_kill(happed, moment)
        standing_lessons(database, told)
        happed.start()
    lessons = standing_lessons(database)
    undo_all(happed.serves(), lessons)
    assert standing_lessons(database) == []
    with capsys.disabled():
        print(f"\n{ROUNDS} kills, {len(lessons)} lessons left to undo")
