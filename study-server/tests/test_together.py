# SPDX-License-Identifier: GPL-2.0-or-later
"""One transaction does work that comes at the same time, and each thread gets its own outcome."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from happe_study.base.database import table
from happe_study.base.together import MOST, Together
from happe_study.design.study import Study
from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from world import World


class Desk:
    """Writes a study for each name. The first piece waits until the test lets it go on."""

    def __init__(self, world: World) -> None:
        self.batches: list[list[str]] = []
        self.busy, self.go_on = threading.Event(), threading.Event()
        self.together: Together[str, str] = Together(world.database, self.write)

    def write(self, session: Session, names: Sequence[str]) -> list[str | Exception]:
        """Return each name in capitals. It refuses `no`; `broken` or an existing name breaks the whole transaction."""
        self.batches.append(list(names))
        self.busy.set()
        assert self.go_on.wait(PATIENCE_S)
        if "broken" in names:
            raise OSError("the disk is full")
        wanted = [name for name in names if name != "no"]
        rows = [
            {"name": name, "title": "", "protocol": "", "protocol_sha256": "", "state": "draft", "created_us": 0}
            for name in wanted
        ]
        if rows:
            session.execute(table(Study).insert(), rows)
        return [ValueError(name) if name == "no" else name.upper() for name in names]

    def does(self, first: str, *others: str) -> list[str | type[BaseException]]:
        """The outcomes of a piece, and of others that come while this is being done."""
        with ThreadPoolExecutor(1 + len(others)) as threads:
            begun = threads.submit(self.together.result, first)
            assert self.busy.wait(PATIENCE_S)
            later = [threads.submit(self.together.result, name) for name in others]
            while len(self.together._waiting) < len(others):  # noqa: SLF001 - they gather
                assert not begun.done()
            self.go_on.set()
            return [type(error) if (error := each.exception(PATIENCE_S)) else each.result() for each in (begun, *later)]


@pytest.fixture
def desk(small_world: World) -> Desk:
    """A desk without work."""
    return Desk(small_world)


def names(world: World) -> set[str]:
    """The names of all studies."""
    with world.database.reading() as session:
        return set(session.scalars(select(Study.name)))


def test_what_comes_meanwhile_is_done_in_one_transaction(desk: Desk, small_world: World) -> None:
    assert desk.does("a", "b", "c", "d") == ["A", "B", "C", "D"]
    assert [sorted(batch) for batch in desk.batches] == [["a"], ["b", "c", "d"]]
    assert names(small_world) == {"a", "b", "c", "d"}


def test_a_refusal_is_told_to_its_thread_alone(desk: Desk, small_world: World) -> None:
    assert desk.does("a", "b", "no", "c") == ["A", "B", ValueError, "C"]
    assert len(desk.batches) == 2
    assert names(small_world) == {"a", "b", "c"}


def test_what_breaks_all_is_told_to_its_thread_and_the_others_are_done(desk: Desk, small_world: World) -> None:
    assert desk.does("a", "b", "broken", "c") == ["A", "B", OSError, "C"]
    assert [len(batch) for batch in desk.batches] == [1, 3, 1, 1, 1]
    assert names(small_world) == {"a", "b", "c"}


def test_a_commit_that_is_refused_keeps_nothing_of_it(desk: Desk, small_world: World) -> None:
    outcomes = desk.does("a", "b", "b")
    assert outcomes[0] == "A"
    assert sorted(map(str, outcomes[1:])) == ["<class 'sqlalchemy.exc.IntegrityError'>", "B"]
    assert names(small_world) == {"a", "b"}


def test_a_piece_that_breaks_by_itself_is_tried_once(desk: Desk) -> None:
    desk.go_on.set()
    with pytest.raises(OSError, match="full"):
        desk.together.result("broken")
    assert desk.batches == [["broken"]]


def test_a_transaction_is_no_larger_than_it_may_be(desk: Desk, small_world: World) -> None:
    others = [f"s{number}" for number in range(2 * MOST)]
    assert desk.does("a", *others) == ["A", *(name.upper() for name in others)]
    assert max(len(batch) for batch in desk.batches) == MOST
    assert names(small_world) == {"a", *others}


def test_who_waits_for_its_turn_takes_along_what_comes_until_then(world: World) -> None:
    """The desks stand for two processes. On PostgreSQL, too, the second does not begin while the first works."""
    one, other = Desk(world), Desk(world)
    other.go_on.set()
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(one.together.result, "a")
        assert one.busy.wait(PATIENCE_S)
        later = [threads.submit(other.together.result, name) for name in ("b", "c")]
        while len(other.together._waiting) < 1:  # noqa: SLF001 - it gathers
            assert not first.done()
        one.go_on.set()
        assert [each.result(PATIENCE_S) for each in (first, *later)] == ["A", "B", "C"]
    assert [sorted(batch) for batch in other.batches] == [["b", "c"]]
    assert names(world) == {"a", "b", "c"}
