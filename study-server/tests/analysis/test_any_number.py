# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of any number of people, of data without scatter, and after faults of the program: never without a report."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import given_exports as given
from happe_study.model.jobs.work import GoneError
from happe_study.results.analysis import making
from happe_study.results.analysis.intervals import FEWEST
from happe_study.results.analysis.making import Given, make
from happe_study.results.analysis.reading import Export, Sample
from happe_study.results.analysis.report import Report, Section, Weight, html, results
from happe_study.results.analysis.sections import answer
from happe_study.results.analysis.study import FAULT, Study
from happe_study.results.analysis.tidy import Run, Runs
from happe_study.study.documents import T61
from happe_study.study.protocol.reading import read_protocol

MOST = 60
SOME = (1, 2, 3, 4, 5, 6, 7, 13, 24, MOST)  # all numbers below and beside FEWEST, and others
HEAVY = ("participants", "ratings", "power-model", "period", "diagnostics", "figures")  # much arithmetic or drawing
# Nobody ran at a fixed frequency. One application leaves no residuals. Eight people are too few for a period's effect.
UNANSWERED = {"figures", "diagnostics", "ratings"}
CONDITIONS = ("ondemand", "O-HAPPE", "B-HAPPE")
PROTOCOL = read_protocol(given.locked("crossover").encode(), "crossover.toml")


@cache
def everybody() -> tuple[Run, ...]:
    """Sixty people's runs of one application under three conditions."""
    rows = given.crossover_runs(MOST).rows
    return tuple(run for run in rows if run.application == "torcs" and run.condition in CONDITIONS)


def crossover(people: int, change: Callable[[Run], Run | None] = lambda run: run) -> Study:
    """A study of the first people, each run changed. None leaves a run out."""
    changed = [made for run in everybody() if run.participant < given.code("P", people) and (made := change(run))]
    runs = given.ordered([replace(run, place=1, before="") for run in changed])
    return study(runs)


def study(runs: Runs) -> Study:
    """The study of these runs, with an answer of each person, and records of the first one's runs."""
    people = runs.participants
    answers = {"games": {code: given.LEVELS[n % 3] for n, code in enumerate(people)}}
    samples = {run.run: (Sample(1.0, 800_000, 50.0),) for run in runs.rows if run.participant == people[0]}
    export = Export("small", runs, (), answers, Counter(done=len(people)), samples, {})
    return Study(export, runs, PROTOCOL, {}, T61)


@pytest.fixture(params=["light", pytest.param("every", marks=pytest.mark.slow)])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The sections of the reports: the light ones without their figures' files, or every one."""
    if request.param == "light":
        monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
        for key in HEAVY:
            monkeypatch.delitem(making.SECTIONS, key)
    return str(request.param)


def refusals(wanted: Study) -> dict[str, str]:
    """What the report's sections refuse, and why. None of it is a fault of the program."""
    sections, warnings = making.sections(wanted)
    found = {each.key: "\n".join(each.refused) for each in sections if each.refused}
    assert FAULT not in "\n".join((*warnings, *found.values()))
    return found


def test_every_section_holds_for_every_number_of_people(subtests: pytest.Subtests, kept: str) -> None:
    for people in range(2, MOST + 1) if kept == "light" else SOME:
        with subtests.test(people=people):
            refused = refusals(crossover(people))
            assert people < FEWEST or set(refused) <= UNANSWERED


def under(run: Run, *figures: float) -> float:
    """The figure of the run's condition."""
    return figures[CONDITIONS.index(run.condition)]


def alone(run: Run) -> bool:
    """Whether the run is the first participant's under O-HAPPE."""
    return (run.participant, run.condition) == (given.code("P", 0), "O-HAPPE")


def of_number(run: Run, parts: int) -> int:
    """A number of the run below `parts`, which differs between runs."""
    return int(run.run[1:]) % parts


CHANGES: dict[str, Callable[[Run], Run | None]] = {
    "everybody is the same": lambda run: replace(run, mean_w=30.0, rating=3, guess="usual", performance=2, power=1),
    "conditions differ, people do not": lambda run: replace(
        run, mean_w=under(run, 40, 30, 25), rating=int(under(run, 3, 4, 5)), performance=int(under(run, 0, 4, 2))
    ),
    "one run differs": lambda run: replace(
        run, mean_w=30.0 + alone(run), rating=4 - alone(run), performance=int(alone(run)), power=int(alone(run))
    ),
    "nobody pressed": lambda run: replace(run, performance=0, power=0),
    "nobody pressed under one condition": lambda run: replace(run, performance=int(under(run, 0, 0, 1))),
    "somebody pressed without end": lambda run: replace(run, performance=10**6 if alone(run) else 0),
    "all values are missing": lambda run: replace(
        run, mean_w=None, uncertainty_w=None, rating=None, guess=None, performance=None, power=None
    ),
    "a third of the values are missing": lambda run: replace(
        run,
        mean_w=run.mean_w if of_number(run, 3) else None,
        rating=run.rating if of_number(run, 3) != 1 else None,
        performance=run.performance if of_number(run, 3) != 2 else None,
    ),
    "a third of the runs are missing": lambda run: run if of_number(run, 3) else None,
    "the reference has no values": lambda run: replace(
        run, mean_w=under(run, 0, 30, 25) or None, rating=int(under(run, 0, 4, 5)) or None
    ),
    "only the reference": lambda run: run if run.condition == "ondemand" else None,
    "only one condition of HAPPE": lambda run: run if run.condition == "O-HAPPE" else None,
    "one condition of HAPPE and the reference": lambda run: run if run.condition != "B-HAPPE" else None,
    "each person has one condition": lambda run: (
        run if run.condition == CONDITIONS[int(run.participant[1:]) % len(CONDITIONS)] else None
    ),
    "nobody guesses": lambda run: replace(run, guess="dont-know"),
    "almost nobody guesses": lambda run: run if alone(run) else replace(run, guess="dont-know"),
    "everybody guesses right": lambda run: replace(run, guess="usual" if run.condition == "ondemand" else "learning"),
    "ratings are at the ends of the scale": lambda run: replace(run, rating=int(under(run, 1, 5, 5))),
    "runs have no length": lambda run: replace(run, seconds=0),
    "other conditions": lambda run: replace(run, condition=f"fixed-{CONDITIONS.index(run.condition) + 1}"),
    "one condition tries less": lambda run: replace(run, condition=run.condition.replace("B-HAPPE", "L-HAPPE")),
}


def test_data_without_an_answer_have_a_reason(subtests: pytest.Subtests, kept: str) -> None:
    for about, change in CHANGES.items():
        for people in (1, 6) if kept == "light" else (12,):
            with subtests.test(about, people=people):
                refusals(crossover(people, change))


def test_two_runs_in_one_place_refuse_the_sections_that_need_one() -> None:
    rows = everybody()[:6]
    sections, warnings = making.sections(study(given.ordered([*rows, replace(rows[0], run="again")])))
    said = [why for each in sections for why in each.refused]
    assert {why.partition(": ")[0] for why in said if "has two runs of torcs under" in why} >= {"Savings", "Table a1"}
    assert any("has two runs" in why for why in warnings)
    assert not [why for why in (*said, *warnings) if FAULT in why]


@pytest.mark.parametrize("key", [*making.SECTIONS, "answer"])
def test_a_section_that_fails_costs_only_itself(
    key: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> Section:
        raise ZeroDivisionError(key)

    for other in set(HEAVY) - {key}:
        monkeypatch.delitem(making.SECTIONS, other)
    if key == "answer":
        monkeypatch.setattr(answer, "section", fails)
    else:
        monkeypatch.setitem(making.SECTIONS, key, fails)
    sections, _ = making.sections(crossover(2, CHANGES["one condition tries less"]))
    assert [each.key for each in sections] == ["answer", *making.SECTIONS]
    assert [(each.key, each.refused) for each in sections if FAULT in "".join(each.refused)] == [
        (key, (f"{key.replace('-', ' ').capitalize()}: {FAULT}",))
    ]
    assert [f"ZeroDivisionError: {key}" in record.exc_text for record in caplog.records if record.exc_text] == [True]
    report = Report("small", "Small", [], [], sections)
    assert html(report).count(FAULT.encode()) == results(report).count(FAULT.encode()) == 1


def test_a_number_that_is_none_is_refused_with_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    data = {"savings": [{"estimate": 0.1}, {"estimate": float("nan")}]}
    monkeypatch.setitem(making.SECTIONS, "savings", lambda _: Section("savings", "S", Weight.ESTIMATED, data=data))
    sections, _ = making.sections(crossover(2))
    [savings] = [each for each in sections if each.key == "savings"]
    assert (savings.data, savings.refused) == (None, (f"/savings/1/estimate: is not a number: {FAULT}",))
    assert sections[0].key == "answer"
    assert FAULT not in "".join(sections[0].refused)


@pytest.mark.parametrize("step", ["reading the export", "presses"])
def test_a_job_that_is_cancelled_makes_no_report(tmp_path: Path, step: str) -> None:
    def cancelled(what: str) -> None:
        if what == step:
            raise GoneError

    with pytest.raises(GoneError):
        make(Given(given.paper_files(Runs(everybody()[:6])).write(tmp_path)), cancelled)
