# SPDX-License-Identifier: GPL-2.0-or-later
"""Who took part: CONSORT's flow of participants through a crossover. Which runs count, and their missing values."""

from collections import Counter
from collections.abc import Iterator, Sequence

from happe_study.results.analysis import figures
from happe_study.results.analysis.reading import GONE
from happe_study.results.analysis.report import Picture, Section, Table, Weight
from happe_study.results.analysis.study import Study, plain
from happe_study.results.analysis.tidy import Run, satisfaction, watts

MOST_REASONS = 4  # reasons listed in a box of the flow


def section(study: Study) -> Section:
    """The flow as a figure."""
    periods = list(_periods(study))
    boxes = _boxes(study, periods)
    told = "; ".join(" ".join(f"{text}. {aside}".split()) for text, aside in boxes)
    return Section(
        "participants",
        "Participants",
        Weight.DESCRIPTIVE,
        text=(FLOW,),
        pictures=(Picture("flow", "Flow of participants (CONSORT 2010, crossover)", told, figures.flow(boxes)),),
        data={"states": dict(study.export.participants), "periods": plain(periods)},
    )


FLOW = (
    "Every participant is allocated to a sequence of conditions, so an arm is a condition and the same people are in "
    "all. A period is a run's place among the runs of its application. A run counts if it is complete, "
    "not excluded, and its participant neither withdrew nor was replaced nor excluded."
)


def _periods(study: Study) -> Iterator[tuple[int, str, int, int]]:
    """(period, condition, allocated runs, counted runs)."""
    out = Counter((each.place, each.condition) for each in study.export.left_out)
    kept = Counter((run.place, run.condition) for run in study.runs.rows)
    for at in sorted(out | kept):
        yield (*at, kept[at] + out[at], kept[at])


def _boxes(study: Study, periods: Sequence[tuple[int, str, int, int]]) -> list[tuple[str, str]]:
    states, out = study.export.participants, study.export.left_out
    begun = {run.participant for run in study.runs.rows} | {each.participant for each in out}
    enrolled = sum(states.values())
    boxes = [
        (f"Enrolled: {enrolled} participants", ""),
        (f"Allocated to a sequence: {len(begun)} participants", _aside(enrolled - len(begun), "without an allocation")),
    ]
    for period in sorted({each[0] for each in periods}):
        here = [each for each in periods if each[0] == period]
        arms = "\n".join(f"{condition}: {kept} of {allocated} runs" for _, condition, allocated, kept in here)
        lost = Counter(each.why for each in out if each.place == period)
        boxes.append((f"Period {period}\n{arms}", "\n".join(_lost(lost))))
    gone = ", ".join(f"{states[state]} {state}" for state in GONE if states.get(state))
    lines = [
        f"{name}: {len(runs.participants)} participants, {len(runs.rows)} runs"
        for name, runs in (
            ("Analysed", study.runs),
            ("power", study.runs.with_figure(watts)),
            ("ratings", study.runs.with_figure(satisfaction)),
        )
    ]
    boxes.append(("\n".join(lines), f"Participants not analysed: {gone}" if gone else ""))
    return boxes


def _aside(count: int, what: str) -> str:
    return f"{count} {what}" if count else ""


def _lost(lost: Counter[str]) -> Iterator[str]:
    if lost:
        yield f"{sum(lost.values())} runs do not count"
    for why, count in sorted(lost.items(), key=lambda each: (-each[1], each[0]))[:MOST_REASONS]:
        yield f"{count}: {why[:60]}"
    if len(lost) > MOST_REASONS:
        yield f"{len(lost) - MOST_REASONS} more reasons; the table of runs that are left out has them"


def runs_section(study: Study) -> Section:
    """The numbers of runs and of missing values."""
    export = study.export
    people = ", ".join(f"{count} {state}" for state, count in sorted(export.participants.items()))
    return Section(
        "runs",
        "Runs",
        Weight.DESCRIPTIVE,
        text=(
            (
                f"{len(study.runs.rows)} runs of {len(study.runs.participants)} participants count "
                f"(participants: {people}). {len(export.left_out)} runs are left out."
            ),
        ),
        tables=(_counts(study), _left_out(study)),
        data={
            "counting": len(study.runs.rows),
            "participants": dict(export.participants),
            "left_out": plain(list(export.left_out)),
        },
    )


def _counts(study: Study) -> Table:
    rows = []
    for condition in study.runs.conditions:
        runs = study.runs.under([condition]).rows
        rows.append((condition, str(len(runs)), *(str(count) for count in _missing(runs))))
    notes = ("A run without a value is excluded only from the statistics that need the value.",)
    columns = ("Condition", "Runs", "No power", "No rating", "No guess", "No presses")
    return Table("Runs that count, and their missing data", columns, tuple(rows), notes)


def _missing(runs: tuple[Run, ...]) -> list[int]:
    return [sum(getattr(run, name) is None for run in runs) for name in ("mean_w", "rating", "guess", "performance")]


def _left_out(study: Study) -> Table:
    rows = tuple((each.run, each.participant, each.condition, each.why) for each in study.export.left_out)
    return Table("Runs that are left out", ("Run", "Participant", "Condition", "Why"), rows, names=4)
