# SPDX-License-Identifier: GPL-2.0-or-later
"""A study in which participants taught HAPPE, and its unblinding."""

from uuid import uuid4

import given_participants as people
import records
from given_devices import put_record
from given_studies import small, study, unblind
from happe_study.model.participants import Participant
from happe_study.model.studies import Study
from happe_study.study.sealing import open_condition
from world import World, fixed_secrets

Json = records.Json

SECONDS = 60
OFTEN = 0.15  # presses a second, so that each run of a minute teaches


def taught(
    world: World, *, name: str = "small", players: int = 2, runs: int = 10, blind: bool = False
) -> list[Participant]:
    """The participants of a study, unblinded (unless `blind`) after each has played `runs` runs.

    The last participant presses no key.
    """
    made = study(world, protocol=small(name, participants=-(-players // 4) * 4))
    those = [people.participant(world, made)[0] for _ in range(players)]
    for number, row in enumerate(those):
        play(world, made, row, runs, presses=OFTEN if number < players - 1 else 0.0, seed=100 * number)
    if not blind:
        unblind(world, made.name)
    return those


def play(  # noqa: PLR0913 - a study's
    world: World, made: Study, row: Participant, runs: int, *, presses: float, seed: int, seconds: int = SECONDS
) -> list[Json]:
    """Let a participant play runs at a laptop, which uploads the records, and return the records."""
    laptop = people.laptop_with(world, made, row)
    known: dict[str, list[int]] = {}
    uploaded = []
    for number, run in enumerate(people.runs_of(world, row)[:runs]):
        condition = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed)
        kernel = condition.governor == "ondemand"
        taught = [] if kernel or condition.governor == "T-HAPPE" else [*(known.get(run.application) or ())]
        record = records.make(
            *(run.code, seconds, seed + number),
            client_id=str(uuid4()),
            kernel=kernel,
            presses=presses,
            before=taught or None,
        )
        record["indicator"] = condition.indicator
        if not kernel:
            known[run.application] = record["profile_after"]
        people.answered(world, run.code, laptop)
        answer = put_record(world.client(laptop.token), record)
        assert answer.status_code == 201, answer.text  # noqa: PLR2004 - Created
        uploaded.append(record)
    return uploaded
