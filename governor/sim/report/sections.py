# SPDX-License-Identifier: GPL-2.0-or-later
"""The page's figures: each with its caption, its words for screen readers and its data as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import choices
import figures
from svg import Drawing
from tables import fixed, listed
from traces import read_trace, trace_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from study_data import Run, Study
    from traces import Trace

MOST_USERS = 40  # rows in Figure A.4 that can still be told apart
MOST_A3_USERS = 10  # as in the paper's Figure A.1
CATEGORIES = (
    "Rising: satisfaction increases with every step. Threshold: it increases up to a frequency and no further. "
    "Satisfied: there at all frequencies. Unsatisfied: there at none."
)


@dataclass(frozen=True)
class DataTable:
    """What a figure shows, in numbers. The first `headers` columns of each row are its header."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headers: int = 1


@dataclass(frozen=True)
class Section:
    """A figure of the page: its drawings stand side by side where there is room."""

    anchor: str
    title: str
    caption: str
    drawings: tuple[Drawing, ...]
    table: DataTable
    narrow: tuple[Drawing, ...] = ()  # instead of the drawings on a narrow screen


def all_sections(paper: Study, a3: Study) -> list[Section]:
    """Return all figures in the paper's order, then the UAFPs."""
    return [figure_a1(a3), figure_a3(paper), figure_a4(paper), figure_a5(paper), figure_uafp(paper)]


def key_of(name: str, index: int) -> str:
    """Return a part of a file's name for an application: its own if it is plain, else its number."""
    return name if re.fullmatch(r"[a-z0-9]{1,24}", name) else f"application-{index + 1}"


def simulated(study: Study) -> str:
    """Return the sentence that ends every caption."""
    return f"Simulated; seed {study.seeds[0]}."


def figure_a1(study: Study) -> Section:
    """Return satisfaction and utilisation at the fixed frequencies."""
    count = min(study.participants, MOST_A3_USERS)
    levels = len(study.ladder_khz)
    users = {name: [_satisfaction(study, i, name) for i in range(1, count + 1)] for name in study.applications}
    drawings = [
        Drawing(
            key=f"figure-a1-{key_of(application, index)}",
            title=f"{application}: satisfaction and CPU utilisation at {levels} frequencies, simulated",
            description=_describe_satisfaction(shown),
            figure=figures.satisfaction(shown),
            heading=application,
        )
        for index, (application, shown) in enumerate(users.items())
    ]
    return Section(
        anchor="figure-a1",
        title="Figure A.1: Satisfaction and CPU utilisation at fixed frequencies",
        caption=(
            f"{_users(count, study.participants)}, each a panel for each application, at the frequency levels 1 to "
            f"{levels} ({', '.join(map(figures.ghz, study.ladder_khz))} GHz): the rating given after the run (dots, "
            "left axis, 1 to 5) and how busy CPU 0 was on average (squares, right axis). The panel's title names the "
            "user and the category of section A.3 that the simulation drew for this user and application. "
            f"{CATEGORIES} Ratings carry noise, as people's do, so a panel may look like another category than it was "
            f"drawn from. {simulated(study)}"
        ),
        drawings=tuple(drawings),
        table=_satisfaction_table(users, levels),
    )


def _satisfaction_table(users: dict[str, list[figures.Satisfaction]], levels: int) -> DataTable:
    numbers = range(1, levels + 1)
    return DataTable(
        caption="Figure A.1 in numbers: ratings (1 to 5) and mean utilisation of CPU 0 (%) at each frequency level",
        columns=(
            *("application", "user", "category"),
            *(f"rating at {level}" for level in numbers),
            *(f"CPU 0 busy at {level}, %" for level in numbers),
        ),
        rows=tuple(
            (
                *(application, str(user.user), user.category),
                *map(str, user.ratings),
                *(fixed(value, 1) for value in user.utilisation_percent),
            )
            for application, shown in users.items()
            for user in shown
        ),
        headers=2,
    )


def figure_a3(study: Study) -> Section:
    """Return one training run as time series."""
    (application,) = choices.applications(study, ["torcs"])
    choice = choices.training_run(study, application)
    trace = _trace(study, choice.participants[0], application, "T-HAPPE")
    presses = _describe_presses(trace)

    def drawing(key: str, width: float) -> Drawing:
        title = f"{application} under T-HAPPE: utilisation, frequency and key presses over time, simulated"
        return Drawing(key, title, f"{presses} {_describe_training(trace)}", figures.training_run(trace, width))

    return Section(
        anchor="figure-a3",
        title="Figure A.3: A training run",
        caption=(
            f"One run of {application} under T-HAPPE: how busy both CPUs were (above), the frequency sampled at the "
            f"end of each second and the key presses (below). Shown is {choice.rule}. {presses} {simulated(study)}"
        ),
        drawings=(drawing("figure-a3", figures.WIDE),),
        narrow=(drawing("figure-a3-narrow", figures.NARROW),),
        table=DataTable(
            caption="Figure A.3 in numbers: each second of the run",
            columns=("time, s", "CPU 0 busy, %", "CPU 1 busy, %", "frequency, GHz", "key presses"),
            rows=tuple(_second(trace, i) for i in range(len(trace.t_s))),
        ),
    )


def figure_a4(study: Study) -> Section:
    """Return power and ratings of each user, ondemand and O-HAPPE."""
    count = min(study.participants, MOST_USERS)
    power = [_means(study, name, count, lambda run: run.power_w) for name in ("ondemand", "O-HAPPE")]
    rating = [_means(study, name, count, lambda run: run.rating) for name in ("ondemand", "O-HAPPE")]
    return Section(
        anchor="figure-a4",
        title="Figure A.4: Variation among users",
        caption=(
            f"{_users(count, study.participants)}, ondemand (squares) beside O-HAPPE (dots): mean power and mean "
            f"rating over the {len(study.applications)} applications, with a bar of one standard deviation over the "
            f"applications to each side. {simulated(study)}"
        ),
        drawings=(
            Drawing(
                key="figure-a4-power",
                title="Mean power of each user under ondemand and O-HAPPE, simulated",
                description=_describe_means(power, "W"),
                figure=figures.per_user("mean power, W", None, power),
            ),
            Drawing(
                key="figure-a4-rating",
                title="Mean rating of each user under ondemand and O-HAPPE, simulated",
                description=_describe_means(rating, "points"),
                figure=figures.per_user("mean rating, 1 to 5", (0.8, 5.5), rating),
            ),
        ),
        table=DataTable(
            caption="Figure A.4 in numbers: mean over the applications ± standard deviation",
            columns=("user", "ondemand, W", "O-HAPPE, W", "ondemand, rating", "O-HAPPE, rating"),
            rows=tuple(
                (str(i + 1), *(f"{fixed(one.means[i])} ± {fixed(one.sds[i])}" for one in (*power, *rating)))
                for i in range(count)
            ),
        ),
    )


def figure_a5(study: Study) -> Section:
    """Return one user's frequency in two applications under ondemand and O-HAPPE."""
    chosen = choices.applications(study, ["torcs", "quake3"])
    choice = choices.two_applications(study, chosen[0], chosen[-1])
    number = choice.participants[0]
    conditions = ("ondemand", "O-HAPPE")
    traces = {name: [(one, _trace(study, number, name, one)) for one in conditions] for name in chosen}
    drawings = [
        Drawing(
            key=f"figure-a5-{key_of(application, index)}",
            title=f"{application}: frequency over time under ondemand and O-HAPPE, participant {number}, simulated",
            description=" ".join(f"{one}: {_time_at(study, number, application, one)}." for one in conditions),
            figure=figures.frequency_over_time(both),
            heading=application,
        )
        for index, (application, both) in enumerate(traces.items())
    ]
    return Section(
        anchor="figure-a5",
        title="Figure A.5: Two applications of one user",
        caption=(
            f"The frequency of one user's machine in {listed(chosen)}, sampled each second: ondemand looks at "
            "utilisation alone, O-HAPPE at what this user was content with in this application. Triangles are key "
            "presses: up for the performance key, down for the power key; small and hollow where a press repeats "
            f"another within a second and does not count. Shown is {choice.rule}. {simulated(study)}"
        ),
        drawings=tuple(drawings),
        table=_frequency_table(traces),
    )


def _frequency_table(traces: dict[str, list[tuple[str, Trace]]]) -> DataTable:
    named = [(f"{name}, {one}, GHz", trace) for name, both in traces.items() for one, trace in both]
    seconds = min(len(trace.t_s) for _, trace in named)
    return DataTable(
        caption="Figure A.5 in numbers: each second of the runs",
        columns=("time, s", *(name for name, _ in named)),
        rows=tuple(
            (f"{named[0][1].t_s[i]:g}", *(figures.ghz(trace.khz[i]) for _, trace in named)) for i in range(seconds)
        ),
    )


def figure_uafp(study: Study) -> Section:
    """Return what was learned, after training and at the end."""
    choice = choices.low_middle_high(study)
    learned = {number: _profiles(study, number) for number in choice.participants}
    drawings = [
        Drawing(
            key=f"figure-uafp-{number}",
            title=f"Participant {number}: learned frequencies at ten utilisation levels, simulated",
            description=" ".join(map(_describe_profile, shown)),
            figure=figures.profiles(study.ladder_khz, shown),
            heading=f"participant {number}",
        )
        for number, shown in learned.items()
    ]
    return Section(
        anchor="figure-uafp",
        title="What was learned: UAFPs",
        caption=(
            "The frequency that HAPPE learned for each tenth of normalised utilisation (0: idle; 9: busy at full "
            "speed), after the training run (squares, dashed) and after the last run, B-HAPPE (dots). A level that no "
            f"run reached is where its neighbours pushed it, for a UAFP never descends. Shown are {choice.rule}: "
            f"{listed([str(number) for number in choice.participants])}. {simulated(study)}"
        ),
        drawings=tuple(drawings),
        table=DataTable(
            caption="UAFPs in numbers: GHz at each utilisation level",
            columns=("participant", "application", "after", *(f"level {level}" for level in range(figures.LEVELS))),
            rows=tuple(
                (str(number), profile.application, when, *map(figures.ghz, values))
                for number, shown in learned.items()
                for profile in shown
                for when, values in (("T-HAPPE", profile.training_khz), ("B-HAPPE", profile.final_khz))
            ),
            headers=3,
        ),
    )


def _trace(study: Study, number: int, application: str, condition: str) -> Trace:
    return read_trace(trace_path(study.folder, number, application, condition))


def _satisfaction(study: Study, number: int, application: str) -> figures.Satisfaction:
    runs = [study.runs[number, application, f"fixed-{level}"] for level in range(1, len(study.ladder_khz) + 1)]
    return figures.Satisfaction(
        user=number,
        category=runs[0].category,
        ratings=tuple(run.rating for run in runs),
        utilisation_percent=tuple(100 * run.utilisation for run in runs),
    )


def _means(study: Study, condition: str, count: int, value: Callable[[Run], float]) -> figures.UserMeans:
    per_user = [[value(run) for run in study.of(number, condition)] for number in range(1, count + 1)]
    spreads = tuple(stdev(values) if len(values) > 1 else 0.0 for values in per_user)
    return figures.UserMeans(condition, tuple(map(fmean, per_user)), spreads)


def _profiles(study: Study, number: int) -> list[figures.Profile]:
    both = zip(study.of(number, "T-HAPPE"), study.of(number, "B-HAPPE"), strict=True)
    return [figures.Profile(one.application, one.uafp_khz, two.uafp_khz) for one, two in both]


def _users(count: int, participants: int) -> str:
    users = f"{count} simulated user{'s' if count != 1 else ''}"
    return users if count == participants else f"The first {count} of {participants} simulated users"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _describe_presses(trace: Trace) -> str:
    repeats = sum(not press.counts for press in trace.presses)
    return (
        f"The performance key was pressed {_times(trace.counted('performance'))}, the power key "
        f"{_times(trace.counted('power'))}; repeats within a second of that key's last press, which the governor does "
        f"not count: {repeats}."
    )


def _describe_training(trace: Trace) -> str:
    timeline = ", ".join(f"{press.key} at {press.t_s:.0f} s" for press in trace.presses if press.counts)
    first, last, most = (figures.ghz(khz) for khz in (trace.khz[0], trace.khz[-1], max(trace.khz)))
    return (
        f"Counted presses in the {trace.t_s[-1]:.0f} seconds: {timeline or 'none'}. The frequency began at {first} "
        f"GHz, ended at {last} GHz and was at most {most} GHz."
    )


def _second(trace: Trace, index: int) -> tuple[str, ...]:
    began = trace.t_s[index - 1] if index else 0.0
    pressed = [
        f"{press.key} at {press.t_s:.2f} s{'' if press.counts else ' (repeat)'}"
        for press in trace.presses
        if began < press.t_s <= trace.t_s[index]
    ]
    busy = (fixed(value, 1) for value in trace.util_percent[index])
    return (f"{trace.t_s[index]:g}", *busy, figures.ghz(trace.khz[index]), ", ".join(pressed))


def _describe_satisfaction(users: Sequence[figures.Satisfaction]) -> str:
    return "Ratings from the lowest to the highest frequency. " + " ".join(
        f"User {user.user} ({user.category}): {', '.join(map(str, user.ratings))}; CPU 0 busy from "
        f"{user.utilisation_percent[0]:.0f} to {user.utilisation_percent[-1]:.0f} %."
        for user in users
    )


def _describe_means(conditions: Sequence[figures.UserMeans], unit: str) -> str:
    return " ".join(
        f"{one.condition}: from {fixed(min(one.means))} to {fixed(max(one.means))} {unit} between users, "
        f"{fixed(fmean(one.means))} on average."
        for one in conditions
    )


def _time_at(study: Study, number: int, application: str, condition: str) -> str:
    seconds = study.runs[number, application, condition].seconds_at
    parts = [
        f"{time:.0f} s at {figures.ghz(khz)} GHz"
        for khz, time in zip(study.ladder_khz, seconds, strict=True)
        if round(time) > 0
    ]
    return ", ".join(parts) or "no time"


def _describe_profile(profile: figures.Profile) -> str:
    training, final = (", ".join(map(figures.ghz, values)) for values in (profile.training_khz, profile.final_khz))
    return f"{profile.application}, GHz from level 0 to 9: after training {training}; at the end {final}."
