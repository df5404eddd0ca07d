# SPDX-License-Identifier: GPL-2.0-or-later
"""Every event in every state of a run."""

import pytest

from happe_study.study.runs.machine import ALLOWED, Event, IllegalEventError, Run, State, apply, is_repeated

START, END, RATE, GUESS, RECORD, ABORT, REPLACE = Event


def after(*events: Event, asks_guess: bool = True) -> Run:
    """Return a run to which these events have happened."""
    run = Run(asks_guess)
    for event in events:
        run = apply(run, event)
    return run


def every_run() -> list[Run]:
    """Return every possible run."""
    found = [Run(asks_guess=True), Run(asks_guess=False)]
    for run in found:
        for event in Event:
            try:
                following = apply(run, event)
            except IllegalEventError:
                continue
            if following not in found:
                found.append(following)
    return found


RUNS = every_run()


# Past events, the state that follows from them, and the events that may happen next for the first time.
SITUATIONS: list[tuple[tuple[Event, ...], State, set[Event]]] = [
    ((), State.PLANNED, {START}),
    ((START,), State.STARTED, {END, RECORD, ABORT}),
    ((START, END), State.STARTED, {RATE, RECORD, ABORT}),
    ((START, RECORD), State.STARTED, {RATE, ABORT}),
    ((START, END, RECORD), State.STARTED, {RATE, ABORT}),
    ((START, END, RATE), State.RATED, {GUESS, RECORD, ABORT}),
    ((START, END, RATE, RECORD), State.RATED, {GUESS, ABORT}),
    ((START, END, RATE, GUESS), State.RATED, {RECORD, ABORT}),
    ((START, END, RATE, GUESS, RECORD), State.COMPLETE, set()),
    ((START, RECORD, RATE, GUESS), State.COMPLETE, set()),
    ((START, ABORT), State.ABORTED, {RECORD, REPLACE}),
    ((START, END, ABORT), State.ABORTED, {RECORD, REPLACE}),
    ((START, END, RATE, ABORT), State.ABORTED, {RECORD, REPLACE}),
    ((START, END, RATE, GUESS, ABORT), State.ABORTED, {RECORD, REPLACE}),
    ((START, RECORD, ABORT), State.ABORTED, {REPLACE}),
    ((START, ABORT, REPLACE), State.REPLACED, {RECORD}),
    ((START, ABORT, REPLACE, RECORD), State.REPLACED, set()),
]


@pytest.mark.parametrize(("happened", "state", "possible"), SITUATIONS)
def test_what_has_happened_decides_the_state_and_what_may_follow(
    happened: tuple[Event, ...], state: State, possible: set[Event]
) -> None:
    run = after(*happened)

    assert run.state is state
    for event in set(Event) - run.happened:
        if event in possible:
            assert event in apply(run, event).happened
        else:
            with pytest.raises(IllegalEventError, match=f"of a run that is {state}") as refused:
                apply(run, event)
            assert (refused.value.state, refused.value.event) == (state, event)


def test_without_a_guess_a_run_is_complete_when_it_is_rated_and_recorded() -> None:
    assert after(START, END, RATE, RECORD, asks_guess=False).state is State.COMPLETE
    assert after(START, END, RECORD, RATE, asks_guess=False).state is State.COMPLETE
    with pytest.raises(IllegalEventError, match="asks for no guess"):
        apply(after(START, END, RATE, asks_guess=False), GUESS)


def test_rating_comes_after_the_end_and_the_guess_after_the_rating() -> None:
    with pytest.raises(IllegalEventError, match="has not ended"):
        apply(after(START), RATE)
    with pytest.raises(IllegalEventError, match="not possible"):
        apply(after(START, END), GUESS)


def test_an_event_that_has_happened_changes_nothing() -> None:
    repeated = [(run, event) for run in RUNS for event in run.happened - {START}]

    assert repeated
    for run, event in repeated:
        assert is_repeated(run, event), (run, event)
        assert apply(run, event) is run, (run, event)


def test_a_start_is_repeated_only_while_the_run_is_on() -> None:
    started = [run for run in RUNS if START in run.happened]

    assert started
    for run in started:
        if run.state is State.STARTED and END not in run.happened:
            assert apply(run, START) is run
        else:
            with pytest.raises(IllegalEventError, match="started before"):
                apply(run, START)


def test_every_state_can_be_reached_and_has_a_row_in_the_table() -> None:
    assert {run.state for run in RUNS} == set(State) == set(ALLOWED)


def test_the_situations_above_are_all_there_are() -> None:
    reached = {run.happened for run in RUNS if run.asks_guess and run.state not in (State.ABORTED, State.REPLACED)}

    assert {after(*happened).happened for happened, _, _ in SITUATIONS} >= reached
