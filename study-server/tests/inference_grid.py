# SPDX-License-Identifier: GPL-2.0-or-later
"""How often tests err and intervals hold in studies from `study_worlds`: by method, world and number of people.

    python inference_grid.py FOLDER [STUDIES]

A cell's counts lie in FOLDER as JSON, so the same command goes on where it was interrupted. At the end the table is
printed, and the exit status is 1 if a cell misses: a test errs more often than its level says, or an interval holds
less often, by more than three standard errors. Refusals are counted; they neither hold nor err.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

import study_worlds as worlds
from happe_study.results.analysis import (
    blinding_index,
    groups,
    key_presses,
    noninferiority,
    power_model,
    ratings_clmm,
    savings,
    wins,
)
from happe_study.results.analysis.blinding_index import Guess
from happe_study.results.analysis.design import compared, of_application, require_complete
from happe_study.results.analysis.noninferiority import Verdict, Wanted
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Panel, Runs, satisfaction, watts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from happe_study.results.analysis.design import Terms
    from study_worlds import Draw, Pair, World

    Study = Callable[[np.random.Generator, int], bool]  # whether the test erred, or the interval held

SIZES = (8, 12, 24, 48)
STUDIES = 2000
ERRORS = 3  # standard errors
TWO_SIDED = 0.05
CONDITIONS = ("ondemand", "O-HAPPE")
SIDES = ("O-HAPPE", "ondemand")
CODES = tuple(f"P{n:03}" for n in range(max(SIZES)))


@dataclass(frozen=True)
class Method:
    """A test whose errors are counted (`level` below a half), or an interval that should hold so often."""

    name: str
    world: str
    level: float
    study: Study
    part: float = 1.0  # of the studies, where one takes long


@dataclass(frozen=True)
class Cell:
    """What came out: `counted` errors or intervals that held, of the studies that were not refused."""

    method: str
    world: str
    level: float
    people: int
    studies: int
    counted: int
    refused: int

    @property
    def share(self) -> float:
        """Of the studies that were not refused."""
        return self.counted / max(1, self.studies - self.refused)

    @property
    def missed(self) -> bool:
        """Whether the share is on the wrong side of the level by more than three standard errors."""
        made = self.studies - self.refused
        gap = self.share - self.level if self.level < 1 / 2 else self.level - self.share
        return made > 0 and gap > ERRORS * sqrt(self.level * (1 - self.level) / made)


def panel(pair: Pair) -> Panel:
    """A study as in the analysis."""
    return Panel(np.stack([pair.base, pair.treated], axis=2), CODES[: len(pair.base)], worlds.APPLICATIONS, CONDITIONS)


def saving_holds(world: World, generator: np.random.Generator, people: int) -> bool:
    """The interval of the saving over all applications."""
    found = savings.of_application(panel(world.draw(generator, people)), *SIDES, None).estimate
    return bool(found.low <= -np.expm1(world.truth) <= found.high)


def test_of(world: World, generator: np.random.Generator, people: int) -> noninferiority.NonInferiority:
    """The test of non-inferiority, with the paper's scale."""
    pair = world.draw(generator, people)
    return noninferiority.test(panel(pair), *SIDES, Wanted(worlds.MARGIN, 0.025, 4.0))


def shown_wrongly(world: World, generator: np.random.Generator, people: int) -> bool:
    """The error of the first kind, at the margin."""
    return test_of(world, generator, people).verdict is Verdict.NON_INFERIOR


def inferior_wrongly(world: World, generator: np.random.Generator, people: int) -> bool:
    """The other wrong verdict, at the margin."""
    return test_of(world, generator, people).verdict is Verdict.INFERIOR


def difference_holds(world: World, generator: np.random.Generator, people: int) -> bool:
    """The interval of the mean difference."""
    found = test_of(world, generator, people)
    return found.low <= world.truth <= found.high


def wins_hold(world: World, generator: np.random.Generator, people: int) -> bool:
    """The interval of the win probability."""
    found = wins.wins(panel(world.draw(generator, people)), *SIDES).estimate
    return found.low <= worlds.win_probability(world) <= found.high


def flips_err(world: World, generator: np.random.Generator, people: int) -> bool:
    """The two-sided test of wins."""
    return wins.wins(panel(world.draw(generator, people)), *SIDES).p < TWO_SIDED


def terms(runs: Runs) -> Terms:
    """The terms of a model."""
    return compared(runs, "ondemand").beside(of_application(runs.rows, runs.applications))


def power_term(world: World, generator: np.random.Generator, people: int) -> power_model.Term:
    """The treatment's term, as the report fits it."""
    every = worlds.runs_of(world.draw(generator, people), "mean_w")
    runs = every.with_figure(watts)
    require_complete(runs, every)
    wanted = terms(runs)
    return power_model.fit(
        [float(np.log(run.mean_w or np.nan)) for run in runs.rows],
        wanted.columns,
        wanted.names,
        [run.participant for run in runs.rows],
        {"application": [run.application for run in runs.rows], "condition": [run.condition for run in runs.rows]},
    ).term("O-HAPPE")


def power_holds(world: World, generator: np.random.Generator, people: int) -> bool:
    """The interval of the mixed model's term."""
    found = power_term(world, generator, people)
    return found.low <= world.truth <= found.high


def odds_err(world: World, generator: np.random.Generator, people: int) -> bool:
    """The two-sided test of the cumulative-link model."""
    every = worlds.runs_of(world.draw(generator, people), "rating")
    runs = every.with_figure(satisfaction)
    require_complete(runs, every)
    wanted = terms(runs)
    ratings = [run.rating for run in runs.rows if run.rating is not None]
    fitted = ratings_clmm.fit(ratings, wanted.columns, wanted.names, [run.participant for run in runs.rows])
    return fitted.effects[0].p < TWO_SIDED


def rate(draw: Draw, generator: np.random.Generator, people: int) -> key_presses.Rate:
    """The treatment's ratio of press rates."""
    runs = worlds.runs_of(draw(generator, people), "performance")
    wanted = terms(runs)
    counts = [run.performance or 0 for run in runs.rows]
    owners = [run.participant for run in runs.rows]
    return key_presses.fit(counts, [2.0] * len(counts), wanted.columns, wanted.names, owners).rates[1]


def rates_err(draw: Draw, generator: np.random.Generator, people: int) -> bool:
    """Its test."""
    return rate(draw, generator, people).p < TWO_SIDED


def rates_hold(draw: Draw, generator: np.random.Generator, people: int) -> bool:
    """Its interval."""
    found = rate(draw, generator, people)
    return (found.low is None or found.low <= 0) and (found.high is None or found.high >= 0)


def bang_holds(generator: np.random.Generator, people: int) -> bool:
    """The interval of Bang's index."""
    drawn = worlds.guesses(generator, people)
    made = [Guess(CODES[n], int(arm), int(guess)) for n, own in enumerate(drawn) for arm, guess in own]
    found = blinding_index.indices(made, ("usual", "learning"))[1]
    return found.low <= 0 <= found.high


def welch_errs(world: World, generator: np.random.Generator, people: int) -> bool:
    """Two groups that are none."""
    own = groups.own_savings(panel(world.draw(generator, people)), ["O-HAPPE"], "ondemand")
    return groups.welch([own[::2], own[1::2]])[2] < TWO_SIDED


def methods() -> Iterator[Method]:
    """Every method in every world that it is for."""
    complete = {name: world for name, world in worlds.POWER.items() if world.draw is not worlds.highest_missing}
    for name, world in worlds.POWER.items():
        yield Method("typical saving, interval", name, 0.95, partial(saving_holds, world))
        yield Method("mixed model of power, interval", name, 0.95, partial(power_holds, world), part=0.25)
    for name, world in complete.items():
        yield Method("groups, Welch", name, 0.05, partial(welch_errs, world))
    for name, world in worlds.RATINGS.items():
        yield Method("non-inferior, wrongly", name, 0.025, partial(shown_wrongly, world))
        yield Method("inferior, wrongly", name, 0.025, partial(inferior_wrongly, world))
        yield Method("mean difference, interval", name, 0.95, partial(difference_holds, world))
        yield Method("win probability, interval", name, 0.95, partial(wins_hold, world))
    for name, world in worlds.NO_DIFFERENCE.items():
        yield Method("win probability, interval", name, 0.95, partial(wins_hold, world))
        yield Method("wins, flips of signs", name, 0.05, partial(flips_err, world))
        yield Method("cumulative-link model", name, 0.05, partial(odds_err, world), part=0.25)
    for name, draw in worlds.PRESSES.items():
        yield Method("press rates, test", name, 0.05, partial(rates_err, draw))
        yield Method("press rates, interval", name, 0.95, partial(rates_hold, draw))
    yield Method("Bang's index, interval", "guesses", 0.95, bang_holds)


def run(method: Method, people: int, studies: int) -> Cell:
    """Draw the studies of a cell; the seed is the cell's own."""
    generator = np.random.default_rng([crc32(f"{method.name}/{method.world}".encode()), people])
    studies = round(method.part * studies)
    counted = refused = 0
    for _ in range(studies):
        try:
            counted += int(method.study(generator, people))
        except Refusal:
            refused += 1
    return Cell(method.name, method.world, method.level, people, studies, counted, refused)


def kept(folder: Path, method: Method, people: int, studies: int) -> Cell:
    """A cell, from its file if that exists."""
    name = f"{method.name} {method.world} {people} {studies}".replace(" ", "-").replace(",", "").replace("'", "")
    file = folder / f"{name}.json"
    if not file.exists():
        file.with_suffix(".new").write_text(json.dumps(asdict(run(method, people, studies))))
        file.with_suffix(".new").replace(file)
    return Cell(**json.loads(file.read_text()))


def table(cells: list[Cell]) -> str:
    """Markdown: a row for each method and world; percent, and in brackets what was refused."""
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
    cells = [kept(folder, method, people, studies) for method in methods() for people in SIZES]
    print(table(cells))
    return int(any(each.missed for each in cells))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:])))
