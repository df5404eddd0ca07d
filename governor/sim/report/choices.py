# SPDX-License-Identifier: GPL-2.0-or-later
"""Which runs the figures show: rules fixed beforehand, stated in the captions, blind to how good a run looks."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from study_data import Run, Study

WANTED_PERFORMANCE = 3
WANTED_POWER = 1


@dataclass(frozen=True)
class Choice:
    """Participants (from 1) and the rule by which they were chosen, in words that follow "Shown is"."""

    participants: tuple[int, ...]
    rule: str


def applications(study: Study, wanted: Sequence[str]) -> list[str]:
    """Return `wanted` if the study has them all, or else as many from its first on."""
    return list(wanted) if set(wanted) <= set(study.applications) else study.applications[: len(wanted)]


def training_run(study: Study, application: str) -> Choice:
    """Choose a T-HAPPE run with enough presses to see the governor learn."""
    runs = [study.runs[number, application, "T-HAPPE"] for number in range(1, study.participants + 1)]
    for run in runs:
        if run.performance_presses >= WANTED_PERFORMANCE and run.power_presses >= WANTED_POWER:
            return Choice(
                (run.participant,),
                f"participant {run.participant}, the first with at least three counted presses of the performance key "
                "and one of the power key in this run",
            )
    most = max(runs, key=lambda run: (run.performance_presses + run.power_presses, -run.participant))
    return Choice(
        (most.participant,),
        f"participant {most.participant}, who pressed most in this run; nobody pressed the performance key three times "
        "and the power key once",
    )


def mean_khz(run: Run, ladder_khz: Sequence[int]) -> float:
    """Return the mean frequency of a run, weighted by the time in each."""
    seconds = sum(run.seconds_at)
    return sum(khz * time for khz, time in zip(ladder_khz, run.seconds_at, strict=True)) / seconds if seconds else 0.0


def two_applications(study: Study, busy: str, easy: str) -> Choice:
    """Choose a participant who needs more speed in one application than in another, as the paper's user B."""

    def speed(number: int, application: str) -> float:
        return mean_khz(study.runs[number, application, "O-HAPPE"], study.ladder_khz)

    if busy == easy:
        return Choice((1,), "participant 1; the study has one application only")
    everybody = range(1, study.participants + 1)
    for number in everybody:
        if speed(number, easy) <= study.ladder_khz[0] < speed(number, busy):
            return Choice(
                (number,),
                f"participant {number}, the first whom O-HAPPE served at the lowest frequency throughout {easy} and "
                f"above it in {busy}",
            )
    number = max(everybody, key=lambda number: (abs(speed(number, busy) - speed(number, easy)), -number))
    return Choice(
        (number,),
        f"participant {number}, whose mean frequency under O-HAPPE differs most between the two; nobody stayed at the "
        f"lowest frequency throughout {easy} and above it in {busy}",
    )


def low_middle_high(study: Study) -> Choice:
    """Choose the participants with the lowest, the middle and the highest mean power under O-HAPPE."""
    by_power = sorted(
        range(1, study.participants + 1),
        key=lambda number: (fmean(run.power_w for run in study.of(number, "O-HAPPE")), number),
    )
    places = (0, (len(by_power) - 1) // 2, -1)
    chosen = dict.fromkeys(by_power[place] for place in places)
    return Choice(
        tuple(chosen),
        "the participants with the lowest, the middle and the highest mean power under O-HAPPE, in this order"
        if len(chosen) == len(places)
        else "everybody, as the study has fewer than three participants",
    )
