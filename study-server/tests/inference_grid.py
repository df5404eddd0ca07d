# SPDX-License-Identifier: GPL-2.0-or-later
"""Count how often tests err and intervals hold in studies from `study_worlds`: by method, world and number of people.

    python inference_grid.py FOLDER [STUDIES]

FOLDER has each cell's counts as JSON, so an interrupted command goes on when it is repeated. At the end it prints the
table. The exit status is 1 if a cell misses: by more than three standard errors, a test errs more often than its level
says, or an interval holds less often. It counts refusals, which neither hold nor err.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import study_worlds as worlds
from happe_study.results.analysis import blinding_index, groups, noninferiority, ratings_clmm, savings
from happe_study.results.analysis.blinding_index import Guess
from happe_study.results.analysis.design import changing_places, period_terms
from happe_study.results.analysis.noninferiority import Verdict, Wanted
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.sections import power, ratings
from happe_study.results.analysis.tidy import Panel, satisfaction, watts
from study_worlds import Pair, World

Study = Callable[[np.random.Generator, int], Iterable[bool | None]]


SIZES = (5, 8, 12, 24, 48)
STUDIES = 2000
ERRORS = 3  # standard errors
PROCESSES = 2
LEVEL, ONE_SIDED, COVERAGE = 0.05, 0.025, 0.95
CONDITIONS = ("ondemand", "O-HAPPE")
SIDES = ("O-HAPPE", "ondemand")
REFERENCE = "ondemand"
CODES = tuple(f"P{n:03}" for n in range(max(SIZES)))
APPLICATION = 1  # it stands for all four
SCALE = (1, 5)


@dataclass(frozen=True)
class Method:
    """What to count in the studies of a world: errors of tests (level below a half), or intervals that hold the truth.

    `study` draws a study. For each of `counted`, in order, it says whether the test erred or the interval held; None
    for a refusal. If it raises Refusal, it refuses all.
    """

    world: str
    counted: dict[str, float]  # levels by name
    study: Study
    part: float = 1.0  # share of the studies to draw, if one takes long


@dataclass(frozen=True)
class Cell:
    """A result: `counted` errors or intervals that held, among the studies that were not refused."""

    method: str
    world: str
    level: float
    people: int
    studies: int
    counted: int
    refused: int

    @property
    def share(self) -> float:
        """The share of the studies that were not refused."""
        return self.counted / max(1, self.studies - self.refused)

    @property
    def missed(self) -> bool:
        """Whether the share is on the wrong side of the level by more than three standard errors."""
        made = self.studies - self.refused
        gap = self.share - self.level if self.level < 1 / 2 else self.level - self.share
        return made > 0 and gap > ERRORS * sqrt(self.level * (1 - self.level) / made)


def panel(pair: Pair) -> Panel:
    """A study in the form of the analysis."""
    return Panel(np.stack([pair.base, pair.treated], axis=2), CODES[: len(pair.base)], worlds.APPLICATIONS, CONDITIONS)


def holds(found: Any, truth: float) -> bool:  # noqa: ANN401 - whatever has limits
    """Whether an interval holds the truth."""
    return bool(found.low <= truth <= found.high)


def tried(make: Callable[[], bool]) -> bool | None:
    """The result of `make`; None if it refuses."""
    try:
        return make()
    except Refusal:
        return None


# --- power


def saved(world: World, generator: np.random.Generator, people: int) -> Iterator[bool | None]:
    """Intervals of the typical saving over all applications and in one."""
    drawn = panel(world.draw(generator, people))
    for application in (None, worlds.APPLICATIONS[APPLICATION]):
        find = partial(savings.of_application, drawn, *SIDES, application)
        yield tried(lambda find=find: holds(find().estimate, -np.expm1(world.truth)))  # type: ignore[misc]


def groups_err(world: World, generator: np.random.Generator, people: int) -> Iterator[bool | None]:
    """The test of two groups that do not differ, and the interval of one."""
    drawn = panel(world.draw(generator, people))
    answers = {code: str(n % 2) for n, code in enumerate(drawn.participants)}
    found = groups.of_question(drawn, SIDES[:1], SIDES[1], "question", answers)
    yield found.p < LEVEL
    estimate = found.groups[0].estimate
    yield holds(estimate, worlds.mean_saving(world)) if estimate else None


def power_holds(world: World, generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The interval of the mixed model's term."""
    every = worlds.runs_of(world.draw(generator, people), "mean_w")
    yield holds(power.fitted(every, every.with_figure(watts), REFERENCE).term("O-HAPPE"), world.truth)


def power_periods_err(generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The first page's test of places, and the tests of the condition before."""
    runs = changing_places(worlds.crossover(generator, people, "mean_w"))
    yield from _periods({each.name: each.p for each in power.fitted(runs, runs, REFERENCE, period_terms(runs)).terms})


def _periods(p: dict[str, float]) -> Iterator[bool]:
    places = groups.holm([p[name] for name in p if name.startswith("place ")])
    yield min(places) < LEVEL
    yield next(p[name] for name in p if name.startswith("after ")) < LEVEL


# --- ratings


def tested(world: World, generator: np.random.Generator, people: int) -> Iterator[bool]:
    """Both wrong verdicts of the test of non-inferiority at the margin, and its interval, on the paper's scale."""
    wanted = Wanted(worlds.MARGIN, ONE_SIDED, float(SCALE[1] - SCALE[0]))
    found = noninferiority.test(panel(world.draw(generator, people)), *SIDES, wanted)
    yield found.verdict is Verdict.NON_INFERIOR
    yield found.verdict is Verdict.INFERIOR
    yield holds(found, world.truth)


def difference_holds(world: World, generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The interval of the mean difference in one application, as in Table A.1."""
    drawn = panel(world.draw(generator, people))
    name = worlds.APPLICATIONS[APPLICATION]
    found = noninferiority.difference(drawn, SIDES, name, worlds.MARGIN, SCALE)
    yield holds(found.estimate, worlds.difference_in(world, APPLICATION))


def odds_err(world: World, generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The two-sided test of the cumulative-link model."""
    every = worlds.runs_of(world.draw(generator, people), "rating")
    yield ratings.fitted(every, every.with_figure(satisfaction), REFERENCE).effects[0].p < LEVEL


def odds_together_err(generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The joint test of two treatments."""
    runs = worlds.crossover(generator, people, "rating")
    yield ratings_clmm.test_together(ratings.fitted(runs, runs, REFERENCE), worlds.CROSSED[1:]).p < LEVEL


def odds_periods_err(generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The first page's test of places, and the tests of the condition before."""
    runs = changing_places(worlds.crossover(generator, people, "rating"))
    yield from _periods(
        {each.name: each.p for each in ratings.fitted(runs, runs, REFERENCE, period_terms(runs)).effects}
    )


# --- guesses


def guessed(guessers: worlds.Guessers, generator: np.random.Generator, people: int) -> Iterator[bool]:
    """The intervals of James's index and of Bang's."""
    drawn = guessers.draw(generator, people)
    made = [Guess(CODES[n], int(arm), int(guess)) for n, own in enumerate(drawn) for arm, guess in own]
    found = blinding_index.indices(made, ("usual", "learning"))
    yield holds(found[0], worlds.james_index(guessers))
    yield holds(found[1], guessers.bang)


PERIODS = {"period (first page)": LEVEL, "carry-over": LEVEL}
SAVED = ("typical saving", "typical saving in an application")
TESTED = {"non-inferior, wrongly": ONE_SIDED, "inferior, wrongly": ONE_SIDED, "mean difference, interval": COVERAGE}


def methods() -> Iterator[Method]:
    """Every method in each of its worlds."""
    for name, world in worlds.POWER.items():
        yield Method(name, {f"{each}, interval": COVERAGE for each in SAVED}, partial(saved, world))
        yield Method(name, {"mixed model of power, interval": COVERAGE}, partial(power_holds, world))
        grouped = {"groups, Welch": LEVEL, "saving of a group, interval": COVERAGE}
        yield Method(name, grouped, partial(groups_err, world))
    crossed = {f"mixed model of power, {what}": level for what, level in PERIODS.items()}
    yield Method("crossover", crossed, power_periods_err)
    for name, world in worlds.RATINGS.items():
        yield Method(name, TESTED, partial(tested, world))
        yield Method(name, {"difference in an application, interval": COVERAGE}, partial(difference_holds, world))
    for name, world in worlds.NO_DIFFERENCE.items():
        yield Method(name, {"cumulative-link model": LEVEL}, partial(odds_err, world), part=0.25)
    yield Method("crossover", {"cumulative-link model, two treatments together": LEVEL}, odds_together_err, part=0.25)
    crossed = {f"cumulative-link model, {what}": level for what, level in PERIODS.items()}
    yield Method("crossover", crossed, odds_periods_err, part=0.25)
    indices = {"James's index, interval": COVERAGE, "Bang's index, interval": COVERAGE}
    for name, guessers in worlds.GUESSES.items():
        yield Method(name, indices, partial(guessed, guessers))


def run(method: Method, people: int, studies: int) -> list[Cell]:
    """Draw the studies of a method at a size. Each method, world and size has its own seed."""
    generator = np.random.default_rng([crc32("/".join([*method.counted, method.world]).encode()), people])
    studies = round(method.part * studies)
    refused: list[bool | None] = [None] * len(method.counted)
    drawn = []
    for _ in range(studies):
        try:
            drawn.append(list(method.study(generator, people)))
        except Refusal:
            drawn.append(refused)
    return [
        Cell(name, method.world, level, people, studies, sum(map(bool, found)), found.count(None))
        for (name, level), found in zip(method.counted.items(), zip(*drawn, strict=True), strict=True)
    ]


def kept(folder: Path, studies: int, place: tuple[int, int]) -> list[Cell]:
    """The cells at a place (number of a method, size), from their file if it exists."""
    method, people = list(methods())[place[0]], place[1]
    name = f"{next(iter(method.counted))} {method.world} {people} {studies}".translate({ord(c): None for c in ",'()"})
    file = folder / f"{name.replace(' ', '-')}.json"
    if not file.exists():
        found = [asdict(each) for each in run(method, people, studies)]
        file.with_suffix(".new").write_text(json.dumps(found))
        file.with_suffix(".new").replace(file)
    return [Cell(**each) for each in json.loads(file.read_text())]


def table(cells: list[Cell]) -> str:
    """Markdown: a row for each method and world, in percent, with refusals in brackets."""
    lines = ["| method | world | nominal | " + " | ".join(map(str, SIZES)) + " |", "| --- " * (3 + len(SIZES)) + "|"]
    rows = {(each.method, each.world): each.level for each in cells}
    for (method, world), level in rows.items():
        shown = [_shown(each) for each in cells if (each.method, each.world) == (method, world)]
        lines.append(f"| {method} | {world} | {100 * level:g} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _shown(cell: Cell) -> str:
    refused = cell.refused / cell.studies
    if refused == 1:
        return "refused"
    some = f" ({100 * refused:.1f})" if refused else ""
    return f"{100 * cell.share:.1f}{some}{' missed' if cell.missed else ''}"


def main(folder: Path, studies: int = STUDIES) -> int:
    """Draw the missing cells, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    places = list(product(range(len(list(methods()))), SIZES))
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("fork")) as pool:
        cells = [each for found in pool.map(partial(kept, folder, studies), places) for each in found]
    print(table(cells))
    return int(any(each.missed for each in cells))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
