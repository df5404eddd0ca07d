# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports and power measures as files, like those of a study with the paper's figures.

Powers have Table A.1's standard deviations. The means behind the table's rounded ones are in its column `mean_w`: the
paper did not compute its improvements from the printed means (30.38 W is 23.01 % less than 39.46 W, but the table has
23.02 %). Ratings have one of the few histograms that give the table's cell. Presses are whole numbers whose rates round
to Table A.3's cells, so runs are not quite two minutes long. The paper does not say which of its figures belong to the
same person: a fixed seed decides this.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from happe_study.results.analysis.reading import NEEDED
from happe_study.results.analysis.tidy import Run, Runs
from happe_study.study.protocol import reading as protocol_module
from happe_study.study.protocol.designs import williams

DATA = Path(__file__).parent / "data"
PROTOCOLS = Path(protocol_module.__file__).with_name("examples")
USERS = 24
SECONDS = 120
CONDITIONS = ("ondemand", "T-HAPPE", "O-HAPPE", "B-HAPPE")
APPLICATIONS = ("torcs", "quake3", "glest", "trackballs")
LEVELS = ("beginner", "moderate", "master")


def table(name: str) -> list[dict[str, str]]:
    """A table of the paper."""
    lines = (DATA / f"table-{name}.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def code(kind: str, number: int) -> str:
    """A code: eight characters of Crockford's base 32."""
    return f"{kind}{number:07d}"


def exact(mean: float, sd: float, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Numbers with this mean and this sample standard deviation."""
    drawn = generator.normal(size=n)
    standard: NDArray[np.float64] = (drawn - drawn.mean()) / drawn.std(ddof=1)
    return mean + sd * standard


TOTALS = {"T-HAPPE": 28.50, "O-HAPPE": 24.39, "B-HAPPE": 26.56}  # percent, section A.5.2


@cache
def paper_runs() -> Runs:
    """The 384 runs of section A.5."""
    generator = np.random.default_rng(1)
    rows = []
    pressed = presses(generator)
    for place, cell in enumerate(table("a1")):
        application, condition = cell["application"], cell["condition"]
        watts = exact(float(cell["mean_w"]), float(cell["power_sd_w"]), USERS, generator)
        ratings = generator.permutation(np.repeat(np.arange(1, 6), [int(count) for count in cell["ratings"].split()]))
        for user in range(USERS):
            position = CONDITIONS.index(condition) * 4 + APPLICATIONS.index(application) + 1
            keys = pressed.get((application, condition))
            rows.append(
                Run(
                    run=code("R", place * USERS + user),
                    participant=code("P", user),
                    application=application,
                    condition=condition,
                    position=position,
                    place=CONDITIONS.index(condition) + 1,
                    seconds=SECONDS if keys is None else keys[2],
                    mean_w=float(watts[user]),
                    uncertainty_w=0.1,
                    rating=int(ratings[user]),
                    performance=None if keys is None else int(keys[0][user]),
                    power=None if keys is None else int(keys[1][user]),
                )
            )
    return Runs(tuple(sorted(rows, key=lambda run: (run.participant, run.position))))


Keys = tuple["NDArray[np.int64]", "NDArray[np.int64]", float]


def presses(generator: np.random.Generator) -> dict[tuple[str, str], Keys]:
    """The presses of both keys by each user in each HAPPE run, and the runs' length in seconds."""
    found: dict[tuple[str, str], Keys] = {}
    for row in table("a3"):
        for phase, conditions in (("training", ("T-HAPPE",)), ("operating", ("O-HAPPE", "B-HAPPE"))):
            seconds = float(row[f"{phase}_seconds"])
            minutes = USERS * len(conditions) * seconds / 60
            totals = [round(float(row[f"{phase}_{key}"]) * minutes) for key in ("performance", "power")]
            dealt = [spread(total, len(conditions), generator) for total in totals]
            for n, condition in enumerate(conditions):
                found[row["application"], condition] = (dealt[0][n], dealt[1][n], seconds)
    return found


def spread(total: int, runs: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Distribute presses to the users' runs: runs x users."""
    dealt = generator.multinomial(total, np.full(runs * USERS, 1 / (runs * USERS)))
    return dealt.reshape(runs, USERS)


@dataclass
class Files:
    """An export before it is written: tables as rows, and the measures."""

    study: str
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    measures: list[dict[str, Any]] = field(default_factory=list)

    def with_protocol(self) -> Self:
        """Add the locked protocol."""
        text = locked(self.study)
        digest = hashlib.sha256(text.encode()).hexdigest()
        self.tables["study"] = [{"study": self.study, "protocol_sha256": digest, "protocol": text}]
        return self

    def write(self, folder: Path) -> Path:
        """Write the export as CSV, and the measures beside it."""
        out = folder / "export"
        out.mkdir()
        for name, rows in self.tables.items():
            with (out / f"{self.study}-{name}.csv").open("w", newline="") as opened:
                writer = csv.DictWriter(opened, list(rows[0] if rows else NEEDED[name]))
                writer.writeheader()
                writer.writerows(rows)
        document = {"format": "happe-power-measures/1", "measures": self.measures}
        (folder / "measures.json").write_text(json.dumps(document))
        return out


def locked(study: str) -> str:
    """A shipped protocol with a margin."""
    return (PROTOCOLS / f"{study}.toml").read_text() + "\n[analysis]\nmargin = 0.25\n"


def paper_files(runs: Runs | None = None, study: str = "paper-a5") -> Files:
    """The export and measures of these runs (by default the paper's), without the table that has the protocol."""
    rows = (runs or paper_runs()).rows
    files = Files(study)
    people = sorted({run.participant for run in rows})
    files.tables = {
        "runs": [_run(run) for run in rows],
        "ratings": [{"run": r.run, "rating": r.rating, "guess": r.guess} for r in rows if r.rating is not None],
        "participants": [
            {
                "participant": person,
                "state": "done",
                "answer_game_experience": LEVELS[n % 3],
                "answer_field_of_study": f"'={n}",
            }
            for n, person in enumerate(people)
        ],
        "records": [{"run": run.run, "started_us": 0, "ended_us": int(run.seconds * 1e6)} for run in rows],
        "keys": [press for run in rows for press in _keys(run)],
        "samples": [sample for run in rows if run.participant == people[0] for sample in _samples(run)],
    }
    files.measures = [_measure(run) for run in rows if run.mean_w is not None]
    return files


def _run(run: Run) -> dict[str, Any]:
    names = ("run", "participant", "application", "condition", "position")
    return {name: getattr(run, name) for name in names} | {
        "seconds": SECONDS,
        "state": "complete",
        "abort_reason": None,
    }


def _keys(run: Run) -> list[dict[str, Any]]:
    """Presses two seconds apart, each followed by another press of the same series."""
    return [
        {"run": run.run, "t_us": 1_000_000 + 2_000_000 * n + after, "key": key}
        for key, count in (("performance", run.performance), ("power", run.power))
        for n in range(count or 0)
        for after in (0, 999_999)
    ]


def _samples(run: Run) -> list[dict[str, Any]]:
    khz = 2_201_000 if run.condition == "ondemand" else 1_200_000
    return [
        {
            "run": run.run,
            "t_us": 1_000_000 * n,
            "policy": 0,
            "cpu": cpu,
            "cur_khz": khz,
            "util_ppm": 900_000 - 500_000 * cpu,
        }
        for n in range(1, 6)
        for cpu in (0, 1)
    ]


def _measure(run: Run) -> dict[str, Any]:
    calibration = {"standing": "valid", "says": "shunt A of 2026-10-01, 51 days old"}
    return {
        "run": run.run,
        "mean_w": run.mean_w,
        "expanded_uncertainty": run.uncertainty_w,
        "k": 2,
        "coverage": 1.0,
        "calibration": calibration,
    }


def ordered(rows: list[Run]) -> Runs:
    """Runs with their places and the conditions before, as in an export that was read."""
    last: dict[tuple[str, str], Run] = {}
    made = []
    for run in sorted(rows, key=lambda each: (each.participant, each.position)):
        before = last.get((run.participant, run.application))
        last[run.participant, run.application] = (
            replace(run, place=before.place + 1, before=before.condition) if before else run
        )
        made.append(last[run.participant, run.application])
    return Runs(tuple(made))


MAIN = ("ondemand", "ondemand+indicator", "O-HAPPE", "B-HAPPE")
SAVED = {"ondemand": 0.0, "ondemand+indicator": 0.0, "T-HAPPE": 0.3, "O-HAPPE": 0.25, "B-HAPPE": 0.28}
FATIGUE = 0.02  # each later run of an application has so much less log power


Figures = dict[str, Any]


def _played(
    people: int, orders: Sequence[Sequence[str]], of_person: Callable[[], Callable[[str, int], Figures]]
) -> Runs:
    """Runs of each application in these orders of the conditions, in turn. A person's figures: by condition, place."""
    rows: list[Run] = []
    for person in range(people):
        figures = of_person()
        for n, application in enumerate(APPLICATIONS):
            order = orders[(person + n) % len(orders)]
            for place, condition in enumerate(order):
                rows.append(
                    Run(
                        run=code("R", len(rows)),
                        participant=code("P", person),
                        application=application,
                        condition=condition,
                        position=n * len(order) + place + 1,
                        seconds=SECONDS,
                        uncertainty_w=0.1,
                        **figures(condition, place),
                    )
                )
    return ordered(rows)


@cache
def crossover_runs(people: int = 24) -> Runs:
    """A crossover: HAPPE saves the share in SAVED, later runs take less, and half of the guesses are right."""
    generator = np.random.default_rng(2)

    def of_person() -> Callable[[str, int], Figures]:
        own, liking = generator.normal(0, 0.04), generator.normal(0, 0.3)

        def figures(condition: str, place: int) -> Figures:
            noise = generator.normal(0, 0.03)
            happe = condition.endswith("-HAPPE")
            chances = [0.25, 0.5, 0.25] if happe else [0.5, 0.25, 0.25]
            guess = generator.choice(["usual", "learning", "dont-know"], p=chances)
            return {
                "mean_w": float(np.exp(np.log(40 * (1 - SAVED[condition])) + own - FATIGUE * place + noise)),
                "rating": int(np.clip(round(4.2 + liking + generator.normal(0, 0.7)), 1, 5)),
                "guess": str(guess),
                "performance": int(generator.poisson(0.6 if happe else 1.2)),
                "power": int(generator.poisson(0.5)),
            }

        return figures

    return _played(people, [["T-HAPPE", *(MAIN[k] for k in order)] for order in williams(len(MAIN))], of_person)


@cache
def level_runs(people: int = 10, levels: int = 5) -> Runs:
    """The study of section A.3: ratings and power rise with the level."""
    generator = np.random.default_rng(3)
    names = [f"fixed-{level + 1}" for level in range(levels)]

    def figures(condition: str, _place: int) -> Figures:
        level = names.index(condition)
        return {
            "rating": int(np.clip(round(2.5 + 0.5 * level + generator.normal(0, 0.8)), 1, 5)),
            "mean_w": float(26 + 4 * level + generator.normal(0, 1)),
        }

    return _played(people, [[names[k] for k in order] for order in williams(levels)], lambda: figures)
