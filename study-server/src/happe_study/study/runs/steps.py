# SPDX-License-Identifier: GPL-2.0-or-later
"""A participant's next step. It follows only from the database, so that all browsers and tabs agree. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.runs import Run
from happe_study.study.runs.machine import State


class Step(StrEnum):
    """A participant's page."""

    CONSENT = "consent"
    QUESTIONNAIRE = "questionnaire"
    HANDOUT = "handout"
    RUN = "run"
    DONE = "done"


class Moment(StrEnum):
    """A participant's progress in a run."""

    WAITS = "waits"  # until the laptop starts the run
    PLAYS = "plays"
    RATES = "rates"
    GUESSES = "guesses"
    STOPPED = "stopped"  # aborted, and not planned again yet


_UNDER_WAY = frozenset({Moment.PLAYS, Moment.RATES, Moment.GUESSES})


@dataclass(frozen=True)
class Present:
    """A participant's present run and the progress in it. It is run `number`, from 1, of `total`."""

    run: Run
    moment: Moment
    number: int
    total: int


def latest(runs: Iterable[Run]) -> list[Run]:
    """The last attempt of each position, in order."""
    return list({run.position: run for run in sorted(runs, key=lambda run: (run.position, run.attempt))}.values())


def is_answered(run: Run, *, asks_guess: bool) -> bool:
    """Whether the participant has answered every question about a run. Its record may still be missing."""
    if run.state in (State.ABORTED, State.REPLACED) or run.rated_us is None:
        return False
    return run.guessed_us is not None or not asks_guess


def present(runs: Iterable[Run], *, asks_guess: bool) -> Present | None:
    """The run that has begun and is not answered, else the first that is not answered; None if all are answered."""
    order = latest(runs)
    left = [
        Present(run, moment(run), number, len(order))
        for number, run in enumerate(order, start=1)
        if not is_answered(run, asks_guess=asks_guess)
    ]
    under_way = [now for now in left if now.moment in _UNDER_WAY]
    return next(iter(under_way + left), None)


def moment(run: Run) -> Moment:
    """The participant's progress in a run that is not answered."""
    match State(run.state):
        case State.PLANNED:
            return Moment.WAITS
        case State.STARTED:
            return Moment.PLAYS if run.ended_us is None else Moment.RATES
        case State.RATED | State.COMPLETE:
            return Moment.GUESSES
        case State.ABORTED | State.REPLACED:
            return Moment.STOPPED


def depends_on_runs(participant: Participant) -> bool:
    """Whether a participant's page depends on their present run."""
    return participant.state == ParticipantState.ENROLLED and participant.handout_us is not None


def step(participant: Participant, now: Present | None) -> Step:
    """The page that a participant is on. `now` is the present run of an enrolled participant."""
    match ParticipantState(participant.state):
        case ParticipantState.INVITED:
            return Step.CONSENT
        case ParticipantState.CONSENTED:
            return Step.QUESTIONNAIRE
        case ParticipantState.ENROLLED if participant.handout_us is None:
            return Step.HANDOUT
        case ParticipantState.ENROLLED if now is not None:
            return Step.RUN
        case _:
            return Step.DONE
