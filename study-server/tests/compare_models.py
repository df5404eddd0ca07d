# SPDX-License-Identifier: GPL-2.0-or-later
"""Compare the mixed models of the analysis with R's, on 30 data sets, drawn with fixed seeds; some are difficult.

    python compare_models.py FOLDER

`models.R` fits the models with R's packages ordinal, lme4, lmerTest and emmeans. Figures may differ by 1e-4,
large ones by this share. If our model refuses, R must see the reason in the data or in its own fit. The exit status is
1 for any difference, and for a refusal without its reason.
"""

import csv
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from happe_study.results.analysis import power_model, ratings_clmm
from happe_study.results.analysis.design import Terms, compared, of_application
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Run, Runs

Found = dict[str, float]


SETS = 30
APART = 1e-4
CONDITIONS = ("ondemand", "O-HAPPE", "B-HAPPE")
APPLICATIONS = ("torcs", "quake3", "glest", "trackballs")
NOTHING = 1e-9


@dataclass(frozen=True)
class World:
    """Assumptions about a data set. Spreads are standard deviations; `people` and `applications` are numbers."""

    name: str
    people: int = 24
    applications: int = 4
    thresholds: tuple[float, ...] = (-3.5, -2.0, -0.5, 1.2)
    own: float = 1.0  # log odds, between people
    liking: float = 0.5  # log odds, of a condition
    level: float = 0.1  # log W, between people
    saving: float = 0.05  # log W, between people, of a condition
    scatter: float = 0.05  # log W, of runs
    spoil: Callable[[Run, np.random.Generator], Run] = lambda run, _: run


def _lost(run: Run, generator: np.random.Generator) -> Run:
    gone = generator.random(2) < 0.15  # noqa: PLR2004 - a part that a real study may lose
    return replace(
        run,
        rating=None if gone[0] else run.rating,
        mean_w=None if gone[1] else run.mean_w,
    )


def _outlier(run: Run, generator: np.random.Generator) -> Run:
    return replace(run, mean_w=run.mean_w * 8) if run.mean_w and generator.random() < 0.02 else run  # noqa: PLR2004


def _separated(run: Run, _: np.random.Generator) -> Run:
    loved = run.condition == "O-HAPPE"
    return replace(run, rating=5 if loved else min(run.rating or 1, 4))


def _equal(run: Run, _: np.random.Generator) -> Run:
    return replace(run, rating=5, mean_w=30.0)


def _confounded(run: Run, _: np.random.Generator) -> Run:
    at = APPLICATIONS.index(run.application)
    return replace(run, condition=CONDITIONS[min(at, 2)])


PLEASANT = World("as in the paper")
WORLDS = (
    PLEASANT,
    replace(PLEASANT, name="everybody alike", own=0.0, liking=0.0, level=0.0, saving=0.0),
    replace(PLEASANT, name="people differ greatly", own=4.0, level=0.6, saving=0.3),
    replace(PLEASANT, name="ratings at the top", thresholds=(-9.0, -8.0, -4.5, -1.5)),
    replace(PLEASANT, name="two points used", thresholds=(-40.0, -39.0, -38.0, 0.0)),
    replace(PLEASANT, name="a scale of seven", thresholds=(-4.0, -2.5, -1.0, 0.0, 1.0, 2.5)),
    replace(PLEASANT, name="few people", people=6),
    replace(PLEASANT, name="one application", applications=1, own=2.0),
    replace(PLEASANT, name="figures missing", spoil=_lost),
    replace(PLEASANT, name="outliers of power", spoil=_outlier),
    replace(PLEASANT, name="a condition separates", spoil=_separated),
    replace(PLEASANT, name="all equal", spoil=_equal),
    replace(PLEASANT, name="too few people", people=4),
    replace(PLEASANT, name="conditions are applications", people=12, applications=3, spoil=_confounded),
)


def drawn(world: World, generator: np.random.Generator) -> Runs:
    """A data set."""
    rows: list[Run] = []
    effects = {name: generator.normal(0, (0.8, 0.2)) * (name != "ondemand") for name in CONDITIONS}
    kinds = generator.normal(0, (0.5, 0.3), (len(APPLICATIONS), 2))
    for person in range(world.people):
        own, level = generator.normal(0, world.own), generator.normal(0, world.level)
        for condition in CONDITIONS:
            liking, saving = generator.normal(0, world.liking), generator.normal(0, world.saving)
            for n, application in enumerate(APPLICATIONS[: world.applications]):
                odds, log_w = effects[condition] + kinds[n]
                run = Run(
                    run=f"R{len(rows)}",
                    participant=f"P{person:02}",
                    application=application,
                    condition=condition,
                    position=len(rows),
                    seconds=float(generator.integers(100, 140)),
                    mean_w=float(np.exp(3.4 + log_w + level + saving + generator.normal(0, world.scatter))),
                    rating=int(np.searchsorted(world.thresholds, odds + own + liking + generator.logistic())) + 1,
                )
                rows.append(world.spoil(run, generator))
    return Runs(tuple(rows))


def written(runs: Runs, file: Path) -> None:
    """Write the data set for R, with NA for a missing value."""
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(("participant", "application", "condition", "rating", "log_w"))
        for run in runs.rows:
            figures = (run.rating, None if run.mean_w is None else repr(float(np.log(run.mean_w))))
            shown = ["NA" if figure is None else figure for figure in figures]
            writer.writerow((run.participant, run.application, run.condition, *shown))


def _terms(runs: Runs, every: Runs) -> Terms:
    return compared(runs, "ondemand").beside(of_application(runs.rows, every.applications))


def of_ratings(every: Runs) -> Found:
    """The cumulative-link mixed model, with the model's own errors."""
    runs = every.with_figure(lambda run: run.rating)
    terms = _terms(runs, every)
    people = [run.participant for run in runs.rows]
    fitted = ratings_clmm.fit([run.rating or 0 for run in runs.rows], terms.columns, terms.names, people)
    named = {f"{each.below}|{each.above}": (each.estimate, each.error) for each in fitted.thresholds}
    named |= {each.name: (each.estimate, each.model_error) for each in fitted.effects}
    return {
        "sigma": fitted.sigma,
        "log likelihood": fitted.log_likelihood,
        **{f"estimate {name}": found[0] for name, found in named.items()},
        **{f"error {name}": found[1] for name, found in named.items()},
    }


def of_power(every: Runs) -> Found:
    """The mixed model of power."""
    runs = every.with_figure(lambda run: run.mean_w)
    terms = _terms(runs, every)
    fitted = power_model.fit(
        [float(np.log(run.mean_w or np.nan)) for run in runs.rows],
        terms.columns,
        terms.names,
        [run.participant for run in runs.rows],
        {"application": [run.application for run in runs.rows], "condition": [run.condition for run in runs.rows]},
    )
    figures = {"estimate": "estimate", "error": "error", "dof": "dof"}
    return {
        "criterion": fitted.criterion,
        **{f"{name} {term.name}": getattr(term, field) for term in fitted.terms for name, field in figures.items()},
        **{f"deviation {name}": value for name, value in fitted.deviations.items()},
        **{f"emmean {name}": fitted.term(name).estimate for name in terms.names if name in CONDITIONS},
    }


def _large(found: Mapping[str, float]) -> bool:
    """Whether R failed, or its figures are huge or not finite."""
    sizes = [abs(value) for name, value in found.items() if name.startswith(("estimate", "error"))]
    errors = [value for name, value in found.items() if name.startswith("error")]
    return "failed" in found or not np.isfinite(sizes).all() or max(sizes) > 12 or max(errors, default=0) > 8  # noqa: PLR2004 - as ours


# The words of a refusal, and R's reason for it, from R's figures and from the design's rank and number of columns.
REASONS: dict[str, Callable[[Found, Found], bool]] = {
    "can't separate the terms": lambda _, design: design["rank"] < design["columns"],
    "all ratings are equal": lambda found, _: found["fact points"] == 1,
    "participants; errors by participant need at least": lambda found, _: found["fact participants"] < 5,  # noqa: PLR2004
    "separates the ratings": lambda found, _: _large(found),
    "do not differ": lambda found, _: found["fact spread"] < NOTHING,
}


def compared_with_r(runs: Runs, theirs: Mapping[str, Found]) -> list[str]:
    """Print a line for each model, and return the differences."""
    models: dict[str, Callable[[], Found]] = {
        "ratings": lambda: of_ratings(runs),
        "power": lambda: of_power(runs),
    }
    wrong = []
    for model, make in models.items():
        found = theirs[model]
        try:
            ours = make()
        except Refusal as refusal:
            seen = next(
                (check(found, theirs["design"]) for said, check in REASONS.items() if said in str(refusal)), False
            )
            print(f"    {model}: refused: {refusal}: {'R sees it' if seen else 'R DOES NOT SEE IT'}")
            wrong += [] if seen else [f"{model}: {refusal}"]
            continue
        missing = [name for name in ours if name not in found]
        gaps = {name: abs(ours[name] - found[name]) / max(1.0, abs(found[name])) for name in ours if name in found}
        worst = max(gaps, key=lambda name: gaps[name] if gaps[name] == gaps[name] else np.inf) if gaps else "nothing"
        print(f"    {model}: {len(gaps)} figures, {gaps.get(worst, np.nan):.1e} apart at most ({worst})")
        wrong += [f"{model}: R has no {name}" for name in missing]
        wrong += [
            f"{model}: {name}: {ours[name]} here, {found[name]} in R" for name, gap in gaps.items() if not gap < APART
        ]
    return wrong


def _read(file: Path) -> dict[str, Found]:
    found: dict[str, Found] = defaultdict(dict)
    with file.open(newline="") as opened:
        for row in csv.DictReader(opened):
            found[row["model"]][row["name"]] = float("nan") if row["value"] == "NA" else float(row["value"])
    return found


def main(folder: Path) -> int:
    """Draw the data sets, let R fit the models, and compare."""
    folder.mkdir(parents=True, exist_ok=True)
    sets: list[tuple[World, Runs]] = []
    for n in range(SETS):
        world = WORLDS[n % len(WORLDS)]
        sets.append((world, drawn(world, np.random.default_rng([22, n]))))
        written(sets[-1][1], folder / f"{n:02}.csv")
    subprocess.run(["Rscript", "--vanilla", str(Path(__file__).with_name("models.R")), str(folder)], check=True)
    wrong: list[Any] = []
    for n, (world, runs) in enumerate(sets):
        print(f"data set {n}: {world.name}")
        wrong += [
            f"data set {n}, {world.name}: {each}" for each in compared_with_r(runs, _read(folder / f"{n:02}.found.csv"))
        ]
    print(*wrong, f"{SETS} data sets, {len(wrong)} differences", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
