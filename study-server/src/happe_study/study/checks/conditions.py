# SPDX-License-Identifier: GPL-2.0-or-later
"""Check that each run's record fits its condition, once the study is unblinded."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from happe_contract import conditions as names
from happe_study.study.checks.behaviour import Behaviour
from happe_study.study.checks.evidence import BLINDED, Check, Evidence, Finding, RunFacts, counted
from happe_study.study.protocol.conditions import Condition

KEY, TITLE = "conditions", "Conditions"
MOST_STRAYED = 0.1  # share of a run's periods; a sample or two may stray when a run begins
MOST_ELSEWHERE = 0.1


def check(evidence: Evidence) -> Check:
    """Look at every record."""
    if not evidence.unblinded:
        return Check(KEY, TITLE, "no record", not_told=(BLINDED,), told=False)
    runs = [run for run in evidence.single if run.condition is not None]
    trained = {
        (run.participant, run.application)
        for run in runs
        if run.condition == names.T_HAPPE and run.behaviour is not None and run.behaviour.lessons
    }
    found = [Finding(f"run {run.code}", f"{run.condition}: {what}") for run in runs for what in _wrong(run, trained)]
    without = [run.code for run in evidence.runs if run.complete and run.condition is None]
    found += [Finding(f"run {code}", "has no known condition: its seal did not open") for code in without]
    found += [Finding(f"run {code}", "its record does not open") for code in evidence.unread]
    found += [Finding(f"run {code}", f"its profile: {what}") for code, what in evidence.doubts]
    looked_at = f"{counted(len(runs), 'record')}: governor, keys, indicator, profile, decided frequencies"
    return Check(KEY, TITLE, looked_at, tuple(found), tuple(_not_told(runs)), told=bool(runs))


def _not_told(runs: list[RunFacts]) -> Iterator[str]:
    if not runs:
        yield "No complete run has a record."
    beyond = sum(_governed(run) and run.behaviour is not None and run.behaviour.strayed is None for run in runs)
    if beyond:
        yield (
            f"This check can't tell whether HAPPE's decisions took effect in {counted(beyond, 'run')}: "
            "decisions or exact frequencies are missing."
        )


def _governed(run: RunFacts) -> bool:
    return run.condition is not None and names.is_happe(run.condition)


def _wrong(run: RunFacts, trained: AbstractSet[tuple[str, str]]) -> Iterator[str]:
    """The contradictions between a record and its condition."""
    assert run.condition is not None  # noqa: S101 - chosen so
    assert run.behaviour is not None  # noqa: S101 - chosen so
    condition, record = Condition.of_label(run.condition), run.behaviour
    if record.indicator != condition.indicator:
        yield f"the battery indicator was {'shown' if record.indicator else 'not shown'}"
    if names.is_happe(condition.governor):
        yield from _no_happe(record)
        yield from _profile(run, record, trained)
    else:
        yield from _learned(record)
        yield from _no_kernel(condition.governor, record)


def _learned(record: Behaviour) -> Iterator[str]:
    if record.served or record.lessons:
        yield f"HAPPE governed in {counted(record.served, 'period')} and learned {counted(record.lessons, 'lesson')}"


def _no_kernel(governor: str, record: Behaviour) -> Iterator[str]:
    if governor == names.ONDEMAND:
        if record.governor != names.ONDEMAND:
            yield f"the kernel's governor was {record.governor}"
        return
    level = names.level_of(governor)
    if level is None or level > len(record.ladder):
        yield f"the laptop has {counted(len(record.ladder), 'frequency', 'frequencies')}"
        return
    khz, whole = record.ladder[level - 1], sum(record.periods.values())
    elsewhere = whole - record.periods.get(khz, 0)
    if elsewhere > MOST_ELSEWHERE * whole:
        yield f"{elsewhere} of {whole} periods were not at {khz} kHz"


def _no_happe(record: Behaviour) -> Iterator[str]:
    if record.governor == names.ONDEMAND:
        yield "the kernel's governor was ondemand"
    if record.sham:
        yield "the keys did nothing"
    if not record.served:
        yield "HAPPE governed in no period"
    if record.strayed is not None and record.strayed[0] > MOST_STRAYED * record.strayed[1]:
        yield f"{record.strayed[0]} of {record.strayed[1]} periods were at another frequency than decided"


def _profile(run: RunFacts, record: Behaviour, trained: AbstractSet[tuple[str, str]]) -> Iterator[str]:
    """A fault unless T-HAPPE began without a profile, and the other conditions with the training's profile."""
    if run.condition == names.T_HAPPE:
        if record.knew_profile:
            yield "it began with a profile, but training must begin without one"
    elif (run.participant, run.application) in trained and not record.knew_profile:
        yield "it began without the profile of the training"
