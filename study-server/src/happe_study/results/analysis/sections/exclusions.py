# SPDX-License-Identifier: GPL-2.0-or-later
"""What was excluded and why, and the main answers with and without it."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from happe_study.results.analysis import savings
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.sections.ratings import outcome, tested
from happe_study.results.analysis.study import Study, attempt, fixed, percent, percent_interval, plain
from happe_study.results.analysis.tidy import Runs, watts

REPORTED, ALL, LESS = "as reported", "with what was excluded", "without what was excluded late (sensitivity analysis)"
TEXT = (
    (
        "An exclusion counts only if it was made blind: before the unblinding, and before an emergency revealed the "
        "run's condition. A later one is a sensitivity analysis, and changes only the rows of that name. An excluded "
        "run drops its pair, which counts as missing. Nothing of an excluded participant counts."
    ),
)
LATE = " (sensitivity analysis)"
NONE = ("Nobody and no run was excluded.",)


def section(study: Study) -> Section:
    """The list of exclusions, and the main answers for each set of the data."""
    refused: list[str] = []
    found = study.export.exclusions
    rows = [row for name, runs in _sets(study) for row in _answers(study._replace(runs=runs), name, refused)]
    columns = ("Data", "Question", "Answer", "95 % interval")
    tables = (_list(study), Table("The main answers with and without exclusions", columns, tuple(rows), names=3))
    return Section(
        "exclusions",
        "Exclusions",
        Weight.ESTIMATED,
        text=TEXT if found else NONE,
        tables=tables if found else (),
        refused=tuple(refused),
        data={"exclusions": plain(list(found)), "answers": [list(row) for row in rows]},
    )


def said(study: Study) -> str:
    """What was excluded blind, and late, in numbers; empty for nothing."""
    counts = Counter(
        f"{'run' if each.get('run') else 'participant'}, {each['reason']}{'' if each['blind'] else LATE}"
        for each in study.export.exclusions
    )
    return "; ".join(f"{count} {what}" for what, count in sorted(counts.items()))


def _sets(study: Study) -> Iterator[tuple[str, Runs]]:
    if not study.export.exclusions:
        return
    yield REPORTED, study.runs
    if study.excluded:
        every = (*study.runs.rows, *study.excluded)
        yield ALL, Runs(tuple(sorted(every, key=lambda run: (run.participant, run.position))))
    if any(run.doubted for run in study.runs.rows):
        yield LESS, Runs(tuple(run for run in study.runs.rows if not run.doubted))


def _answers(study: Study, name: str, refused: list[str]) -> Iterator[tuple[str, str, str, str]]:
    for treatment in study.treatments if study.measures else ():
        make = partial(savings.of_application, study.runs.panel(watts), treatment, study.reference, None)
        if saved := attempt(refused, f"{name}: saving of {treatment}", make):
            question = f"Power that {treatment} saves over {study.reference}"
            yield name, question, f"{percent(saved.estimate.value)} %", f"{percent_interval(saved.estimate)} %"
    if (
        study.protocol
        and study.protocol.analysis
        and (test := attempt(refused, f"{name}: test", lambda: tested(study)))
    ):
        interval = f"{fixed(test.low, 3)} to {fixed(test.high, 3)} points"
        yield name, f"Is {test.treatment} non-inferior in ratings?", outcome(test), interval


def _list(study: Study) -> Table:
    conditions = {each.run: each.condition for each in study.export.left_out}
    conditions |= {run.run: run.condition for run in study.runs.rows}
    rows = tuple(
        (
            each["participant"],
            each.get("run") or "all",
            conditions.get(each.get("run") or "", "all"),
            each["reason"],
            each.get("note") or "erased",
            "blind" if each["blind"] else "sensitivity analysis",
        )
        for each in study.export.exclusions
    )
    return Table("What was excluded", ("Participant", "Run", "Condition", "Reason", "In words", "Kind"), rows, names=6)
