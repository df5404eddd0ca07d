# SPDX-License-Identifier: GPL-2.0-or-later
"""A participant's next step follows from the runs."""

from collections.abc import Mapping

import pytest

from happe_study.model.participants import Participant
from happe_study.model.runs import Run
from happe_study.study.runs.steps import Moment, Step, present, step

PLANNED = {"state": "planned"}
PLAYED = {"state": "started", "started_us": 1}
ENDED = {"state": "started", "started_us": 1, "ended_us": 2}
RATED = {"state": "rated", "started_us": 1, "ended_us": 2, "rated_us": 3}
GUESSED = {**RATED, "guessed_us": 4}
COMPLETE = {**GUESSED, "state": "complete", "record_us": 5}
ABORTED = {"state": "aborted", "started_us": 1, "aborted_us": 2}
REPLACED = {**ABORTED, "state": "replaced"}


def runs(*rows: Mapping[str, object]) -> list[Run]:
    """Runs at positions 1, 2, ...; a row may have its own position and attempt."""
    return [Run(**{"position": number, "attempt": 1, **row}) for number, row in enumerate(rows, start=1)]


@pytest.mark.parametrize(
    ("rows", "number", "moment"),
    [
        ([PLANNED, PLANNED], 1, Moment.WAITS),
        ([PLAYED, PLANNED], 1, Moment.PLAYS),
        ([ENDED, PLANNED], 1, Moment.RATES),
        ([RATED, PLANNED], 1, Moment.GUESSES),
        ([GUESSED, PLANNED], 2, Moment.WAITS),
        ([COMPLETE, ENDED], 2, Moment.RATES),
        ([ABORTED, PLANNED], 1, Moment.STOPPED),
        ([REPLACED, PLANNED, {**PLANNED, "position": 1, "attempt": 2}], 1, Moment.WAITS),
        ([REPLACED, PLAYED, {**PLANNED, "position": 1, "attempt": 2}], 2, Moment.PLAYS),
        ([REPLACED, COMPLETE, {**RATED, "position": 1, "attempt": 2}], 1, Moment.GUESSES),
    ],
)
def test_the_present_run_is_the_one_under_way_else_the_first_left(
    rows: list[Mapping[str, object]], number: int, moment: Moment
) -> None:
    now = present(runs(*rows), asks_guess=True)
    assert now is not None
    assert (now.number, now.moment, now.total) == (number, moment, 2)


def test_without_a_guess_a_rating_is_all_that_is_asked() -> None:
    assert present(runs(RATED), asks_guess=False) is None
    assert present(runs(RATED), asks_guess=True) is not None


def test_a_run_whose_record_is_on_its_way_asks_nothing_more() -> None:
    assert present(runs(GUESSED, COMPLETE), asks_guess=True) is None


@pytest.mark.parametrize(
    ("state", "handout_us", "expected"),
    [
        ("invited", None, Step.CONSENT),
        ("consented", None, Step.QUESTIONNAIRE),
        ("enrolled", None, Step.HANDOUT),
        ("enrolled", 5, Step.RUN),
        ("done", 5, Step.DONE),
    ],
)
def test_each_state_has_its_page(state: str, handout_us: int | None, expected: Step) -> None:
    now = present(runs(PLANNED), asks_guess=False)
    assert step(Participant(state=state, handout_us=handout_us), now) is expected


def test_who_has_answered_everything_is_thanked_though_a_record_is_missing() -> None:
    assert step(Participant(state="enrolled", handout_us=5), None) is Step.DONE
