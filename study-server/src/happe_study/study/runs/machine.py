# SPDX-License-Identifier: GPL-2.0-or-later
"""The state machine of a run. Past events decide the state; the state decides which events may follow.

    planned --start--> started --rate--> rated --guess, record--> complete
                          |                |
                          +-----abort------+--> aborted --replace--> replaced

A run is complete when it has a rating, a record and, if the protocol asks for it, a guess.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class State(StrEnum):
    """The state of a run."""

    PLANNED = "planned"
    STARTED = "started"  # it is in progress, or has ended and waits for its rating
    RATED = "rated"
    COMPLETE = "complete"
    ABORTED = "aborted"
    REPLACED = "replaced"  # aborted, and another attempt is planned at its position


class Event(StrEnum):
    """What can happen to a run."""

    START = "start"
    END = "end"
    RATE = "rate"
    GUESS = "guess"
    RECORD = "record"
    ABORT = "abort"
    REPLACE = "replace"


# The events that may happen in each state for the first time. An aborted run keeps its state when its record arrives.
ALLOWED: dict[State, frozenset[Event]] = {
    State.PLANNED: frozenset({Event.START}),
    State.STARTED: frozenset({Event.END, Event.RATE, Event.RECORD, Event.ABORT}),
    State.RATED: frozenset({Event.GUESS, Event.RECORD, Event.ABORT}),
    State.COMPLETE: frozenset(),
    State.ABORTED: frozenset({Event.RECORD, Event.REPLACE}),
    State.REPLACED: frozenset({Event.RECORD}),
}


class IllegalEventError(Exception):
    """The event may not happen in the run's state."""

    def __init__(self, state: State, event: Event, why: str) -> None:
        """Make the message from the state, the event and the reason."""
        super().__init__(f"{event} of a run that is {state}: {why}")
        self.state = state
        self.event = event
        self.why = why


@dataclass(frozen=True)
class Run:
    """The past events of a run, and whether the protocol asks for a guess."""

    asks_guess: bool
    happened: frozenset[Event] = frozenset()

    @property
    def state(self) -> State:
        """The state that follows from the past events."""
        needed = {Event.RATE, Event.RECORD} | ({Event.GUESS} if self.asks_guess else set())
        if Event.REPLACE in self.happened:
            return State.REPLACED
        if Event.ABORT in self.happened:
            return State.ABORTED
        if needed <= self.happened:
            return State.COMPLETE
        if Event.RATE in self.happened:
            return State.RATED
        return State.STARTED if Event.START in self.happened else State.PLANNED

    @property
    def is_on(self) -> bool:
        """Whether the run is in progress: it has started and not yet ended."""
        return self.state is State.STARTED and Event.END not in self.happened


def is_repeated(run: Run, event: Event) -> bool:
    """Whether an event has happened before, so that repeating it has no effect. The caller compares the contents.

    A laptop may repeat a start only while the run is in progress: afterwards it does not need the condition.
    """
    return event in run.happened and (event is not Event.START or run.is_on)


def apply(run: Run, event: Event) -> Run:
    """The run after an event; the same run if the event is repeated. Raises IllegalEventError if it may not happen.

    A laptop sends the record after the run has ended, so RECORD implies END.
    """
    if is_repeated(run, event):
        return run
    if why := _objection(run, event):
        raise IllegalEventError(run.state, event, why)
    also = {Event.END} if event is Event.RECORD else set()
    return replace(run, happened=run.happened | {event} | also)


def _objection(run: Run, event: Event) -> str | None:
    if event in run.happened:
        return "it has been started before"
    if event not in ALLOWED[run.state]:
        return "that is not possible now"
    if event is Event.RATE and Event.END not in run.happened:
        return "it has not ended yet"
    if event is Event.GUESS and not run.asks_guess:
        return "the protocol asks for no guess"
    return None
