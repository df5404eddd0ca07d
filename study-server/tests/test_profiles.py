# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding a study copies the lessons of its runs into rows, once, and not before."""

from sqlalchemy import select, update

import records
from given_devices import put_record
from given_participants import ended, laptop_with, participant, runs_of
from given_studies import small, study, unblind
from happe_study.model.profiles import TaughtRun
from happe_study.model.runs import RunRecord
from happe_study.study.profiles import services
from happe_study.study.profiles.services import Taken
from happe_study.study.records.stored import PAGE, sealed
from world import World, fixed_secrets


class Learned:
    """A study with one participant, who has played one run. Its record has arrived."""

    def __init__(self, world: World) -> None:
        self.world, self.study = world, study(world, protocol=small())
        person, _token = participant(world, self.study)
        self.laptop = laptop_with(world, self.study, person)
        first = runs_of(world, person)[0]
        ended(world, first.code, self.laptop)
        self.record = records.make(first.code, seconds=120, seed=1)
        assert put_record(world.client(self.laptop.token), self.record).status_code == 201

    def lessons(self) -> list[int]:
        """How many lessons each run in the database has."""
        with self.world.database.reading() as session:
            return [len(lessons) for lessons in session.scalars(select(TaughtRun.lessons))]


def test_before_unblinding_no_row_says_what_was_learned(world: World) -> None:
    learned = Learned(world)
    assert learned.lessons() == []
    unblind(world)
    assert learned.lessons() == [len(learned.record["learned"])]
    assert learned.lessons() > [0]


def test_a_stored_record_that_cannot_be_read_does_not_stop_the_unblinding(world: World) -> None:
    learned = Learned(world)
    code = learned.record["run"]
    other = sealed(fixed_secrets().allocation, code, b'{"format": "another"}', PAGE)
    with world.database.writing() as session:
        session.execute(update(RunRecord).values(document=other))
    assert unblind(world).records == [code]
    assert learned.lessons() == []


def test_what_a_damaged_record_taught_is_taken_out_when_it_is_whole_again(world: World) -> None:
    learned = Learned(world)
    with world.database.writing() as session:
        whole = session.scalars(select(RunRecord.document)).one()
        session.execute(update(RunRecord).values(document=whole[:-1] + bytes([whole[-1] ^ 1])))
    assert unblind(world).records == [learned.record["run"]]
    assert learned.lessons() == []
    with world.database.writing() as session:
        session.execute(update(RunRecord).values(document=whole))
        assert services.take_out(session, learned.study.id, fixed_secrets()) == Taken(1)
    assert learned.lessons() == [len(learned.record["learned"])]
