# SPDX-License-Identifier: GPL-2.0-or-later
"""Key presses, guesses, and groups of participants."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from happe_contract import conditions as names
from happe_study.results.analysis import blinding_index, groups, paper_tables
from happe_study.results.analysis.blinding_index import DONT_KNOW, Guess
from happe_study.results.analysis.groups import Question
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import Study, attempt, fixed, listed, p_value, percent, percent_interval, plain
from happe_study.results.analysis.tidy import watts

MOST_ANSWERS = 8
PRESSES = (
    "A series of presses with gaps under a second is one press. Training is T-HAPPE; the operating phase is O-HAPPE "
    "and B-HAPPE together. The paper implies this, but does not say it."
)
BLINDING = (
    "James: 1 if all say that they don't know, 0.5 at random guessing, 0 if all guess right. Bang, of each arm: 0 at "
    "random guessing, 1 if all guess right; participants and guesses are that arm's. Intervals: jackknife by "
    "participant, Student's t. The published standard error treats every guess as another person's."
)
TRYING_ARMS = ("control by the keys alone", "control that tries less")
GROUPS = (
    "The mean over applications and HAPPE conditions of the group's improvement (section A.5.6), and Welch's analysis "
    "of variance of the participants' own savings. p is corrected by Holm's method for the number of questions; "
    "questions that make the same groups count as one. Nobody was assigned to a group at random, so a difference may "
    "have other causes than the answer."
)


def presses_section(study: Study) -> Section:
    """Table A.3."""
    refused: list[str] = []
    found = attempt(refused, "Table A.3", lambda: paper_tables.table_a3(study.runs))
    tables = (_a3(study, found),) if found else ()
    data = {"table_a3": plain(found)}
    return Section("presses", "Key presses: Table A.3", Weight.PAPER, (PRESSES,), tables, (), tuple(refused), data)


def _a3(study: Study, table: Sequence[paper_tables.Presses]) -> Table:
    rows = tuple(
        (study.name(each.application), each.phase, str(each.runs), fixed(each.performance), fixed(each.power))
        for each in table
    )
    notes = ("Rounded to two decimals, half away from zero.",)
    columns = ("Application", "Phase", "Runs", "Faster", "Save power")
    return Table("Table A.3: presses per minute, mean over users", columns, rows, notes, names=2)


def blinding_section(study: Study) -> Section:
    """The blinding indices."""
    refused: list[str] = []
    arms = TRYING_ARMS if _tries(study) else ("usual control", "learning control")
    found = attempt(refused, "indices", lambda: blinding_index.indices(_guesses(study), arms))
    table = Table(
        "Blinding indices",
        ("Index", "n", "Guesses", "Value", "95 % interval", "Published s. e."),
        tuple(
            (
                each.name,
                str(each.participants),
                str(each.guesses),
                fixed(each.value, 3),
                f"{fixed(each.low, 3)} to {fixed(each.high, 3)}",
                fixed(each.published_error, 3),
            )
            for each in found or ()
        ),
    )
    tables = (table,) if found else ()
    return Section("blinding", "Was it blind?", Weight.ESTIMATED, (BLINDING,), tables, (), tuple(refused), plain(found))


def _tries(study: Study) -> bool:
    """Whether HAPPE tries lower frequencies by itself in some runs."""
    return names.L_HAPPE in study.runs.conditions


def _guesses(study: Study) -> list[Guess]:
    """The guesses of main runs, without the training's (T-HAPPE).

    Arm 1 is HAPPE and arm 0 the kernel's control; in a study of mode `extended` arm 1 is L-HAPPE and arm 0 O-HAPPE.
    """
    trying = _tries(study)
    answers = {"keys-only": 0, "trying": 1} if trying else {"usual": 0, "learning": 1}
    answers["dont-know"] = DONT_KNOW
    treated = names.L_HAPPE if trying else names.HAPPE
    found = [
        Guess(run.participant, int(run.condition.endswith(treated)), answers[run.guess])
        for run in study.runs.rows
        if run.guess in answers and run.condition != names.T_HAPPE
    ]
    if not found:
        raise Refusal("nobody was asked to guess between the two kinds of control")
    return found


def groups_section(study: Study) -> Section:
    """Savings by the answers to the questionnaire."""
    refused: list[str] = []
    found = [
        made
        for key, answers in sorted(study.export.answers.items())
        if (made := attempt(refused, key, partial(_question, study, key, answers)))
    ]
    grouping = [_grouping(study.export.answers[each.key]) for each in found]
    first = {who: each.p for who, each in zip(grouping, found, strict=True)}
    corrected = dict(zip(first, groups.holm(list(first.values())), strict=True))
    found = [replace(each, holm=corrected[who]) for each, who in zip(found, grouping, strict=True)]
    return Section(
        "groups",
        "Appendix: groups of participants",
        Weight.EXPLORATORY,
        (GROUPS,),
        (_groups_table(found),) if found else (),
        (),
        tuple(refused),
        plain(found),
    )


def _grouping(answers: Mapping[str, str]) -> frozenset[frozenset[str]]:
    """The groups that a question makes, as sets of participants, without the answers' names."""
    return frozenset(frozenset(who for who in answers if answers[who] == each) for each in set(answers.values()))


def _question(study: Study, key: str, answers: Mapping[str, str]) -> Question:
    if len(set(answers.values())) > MOST_ANSWERS:
        raise Refusal(f"has more than {MOST_ANSWERS} different answers, which make no groups")
    if not study.happe:
        raise Refusal("HAPPE governed no run")
    return groups.of_question(study.runs.panel(watts), study.happe, study.reference, key, answers)


def _groups_table(found: Sequence[Question]) -> Table:
    rows = tuple(
        (
            question.key,
            group.answer,
            str(group.participants),
            percent(group.paper),
            percent_interval(group.estimate) if group.estimate else "\u2014",
            p_value(question.p),
            p_value(question.holm),
        )
        for question in found
        for group in question.groups
    )
    notes = tuple(
        f"{each.key}: fewer than two participants answered {listed(each.left_out)}, left out."
        for each in found
        if each.left_out
    )
    columns = ("Question", "Answer", "n", "Saved, %", "95 % interval of own savings", "p", "p, Holm")
    return Table("Power saved by group", columns, rows, notes, names=2)
