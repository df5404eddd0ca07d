# SPDX-License-Identifier: GPL-2.0-or-later
"""How many probes people notice: the estimate, its refusals, and simulated field studies with a known share."""

from __future__ import annotations

import math
import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import given_exports as given
from happe_study.evidence.documents.reading import InputError
from happe_study.results.analysis.making import Given, make
from happe_study.results.analysis.noticing import Trial, counted, estimated
from happe_study.results.analysis.probe_plan import precisions
from happe_study.results.analysis.reading import read_export
from happe_study.results.analysis.refusal import Refusal
from operated import happe_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.noticing import Noticed

ROOT = Path(__file__).parents[3]
HAPPE_SIM = ROOT / "build/bin/happe-sim"
STUDIES = int(os.environ.get("HAPPE_FIELD_STUDIES", "12"))
FIRST_SEED = 5001
NOTICE, OTHER_AN_HOUR = 0.3, 0.3
BY_CHANCE = 1 - math.exp(-OTHER_AN_HOUR / 60)  # a press within a minute for another reason
MINUTE_US = 60_000_000


def people(counts: Sequence[tuple[int, int, int, int]]) -> list[Trial]:
    """Trials from counts for each person: real probes with and without a press, then sham probes with and without."""
    kinds = ((False, True), (False, False), (True, True), (True, False))
    return [
        Trial(f"R{who}", f"P{who}", sham, pressed)
        for who, mine in enumerate(counts)
        for (sham, pressed), count in zip(kinds, mine, strict=True)
        for _ in range(count)
    ]


def test_the_share_noticed_is_real_less_sham_with_errors_by_participant() -> None:
    trials = people([(2, 2, 0, 4), (1, 3, 1, 3), (3, 1, 0, 4), (2, 2, 0, 4), (1, 3, 0, 4), (0, 4, 1, 3)])
    found = estimated(counted(trials))

    assert (found.real.probes, found.real.pressed, found.sham.probes, found.sham.pressed) == (24, 9, 24, 2)
    assert found.value == pytest.approx(9 / 24 - 2 / 24)
    own = np.array([2 / 4, 0, 3 / 4, 2 / 4, 1 / 4, -1 / 4])  # equally many probes of each kind: a plain mean
    assert found.error == pytest.approx(own.std(ddof=1) / math.sqrt(6))
    assert found.low < found.value < found.high


@pytest.mark.parametrize(
    ("trials", "why"),
    [
        ([], "0 real probes; the comparison needs at least 10"),
        (people([(1, 2, 0, 1)] * 6), "6 sham probes; the comparison needs at least 10"),
        (people([(1, 4, 0, 5)] * 4), "4 participants; an interval needs at least 5"),
        (people([(0, 4, 0, 4)] * 6), "do not differ between people"),
        (people([(3, 9, 0, 12), *[(0, 0, 0, 1)] * 5]), "depend on a single participant"),
    ],
)
def test_too_little_is_refused(trials: list[Trial], why: str) -> None:
    with pytest.raises(Refusal, match=why):
        estimated(counted(trials))


def half_an_hour_each(folder: Path, pressed: Sequence[bool]) -> Path:
    """Export a study of L-HAPPE. Everybody met a sham and a real probe. `pressed`: who pressed after the real one."""
    tables = {
        "runs": ["run,participant,position,application,condition,seconds,state"],
        "ratings": ["run,rating,guess"],
        "participants": ["participant,state"],
        "probes": ["run,t_us,sham,outcome,served_us"],
        "keys": ["run,t_us,key"],
    }
    for who, press in enumerate(pressed):
        tables["runs"].append(f"R{who},P{who},1,game,L-HAPPE,1800,complete")
        tables["ratings"].append(f"R{who},5,")
        tables["participants"].append(f"P{who},done")
        tables["probes"] += [f"R{who},0,True,,{MINUTE_US}", f"R{who},{MINUTE_US},False,,{2 * MINUTE_US}"]
        tables["keys"] += [f"R{who},{MINUTE_US + 1},performance"] * press
    for name, lines in tables.items():
        (folder / f"field-{name}.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_too_few_probes_are_counted_without_an_estimate(tmp_path: Path) -> None:
    report = make(Given(half_an_hour_each(tmp_path, [True])))

    (section,) = (each for each in report.sections if each.key == "probes")
    assert section.refused == ("share noticed: 1 real probes; the comparison needs at least 10",)
    assert section.data == {
        "real": {"probes": 1, "pressed": 1},
        "sham": {"probes": 1, "pressed": 0},
        "participants": 1,
        "trials": 2,
    }
    assert [row[:4] for row in section.tables[0].rows] == [("Real", "1", "1", "100.0"), ("Sham", "1", "0", "0.0")]


def test_a_plan_draws_people_and_says_how_wide_the_interval_becomes(tmp_path: Path) -> None:
    export = read_export(half_an_hour_each(tmp_path, [True, False]))

    few, some, many = precisions(export, [(9, 9), (50, 40), (160, 160)], 400, 0.1)

    assert (few.half_width, few.narrow) == (None, 0), "9 real probes are too few"
    assert (some.participants, some.left, some.hours, some.probes, some.studies) == (50, 40, 20, 80, 400)
    # Each person's share is 0 or 1, equally likely. Student's t is 2.02 at 39 degrees of freedom, and 1.97 at 159.
    assert some.half_width == pytest.approx(2.02 * 0.5 / math.sqrt(40), rel=0.02)
    assert many.half_width == pytest.approx(1.97 * 0.5 / math.sqrt(160), rel=0.02)
    assert (some.narrow, many.narrow) == (0, 1)


def test_a_plan_without_a_run_that_tries_less_is_refused(tmp_path: Path) -> None:
    export = read_export(given.paper_files().write(tmp_path))

    with pytest.raises(Refusal, match="no run under L-HAPPE"):
        precisions(export, [(24, 24)], 10, 0.1)


@pytest.mark.slow
def test_a_plan_foresees_the_intervals_of_simulated_studies(tmp_path: Path) -> None:
    runs = {"days": 1, "hours": 0.25}
    large = read_export(field_study(tmp_path / "large", FIRST_SEED, participants=500, **runs))
    [planned] = precisions(large, [(48, 48)], 400, 0.1)
    seeds = range(FIRST_SEED + 1, FIRST_SEED + 41)
    made = [found_in(field_study(tmp_path / f"{n}", n, participants=48, **runs)) for n in seeds]

    half = np.mean([(each.high - each.low) / 2 for each in made])

    assert planned.half_width == pytest.approx(half, rel=0.05)
    assert planned.probes == pytest.approx(np.mean([each.real.probes + each.sham.probes for each in made]), rel=0.03)
    assert planned.hours == 12


def export_with(tmp_path: Path, probes: list[dict[str, Any]], keys: list[dict[str, Any]]) -> Path:
    """An export in which the first run has these probes and presses."""
    files = given.paper_files()
    run = files.tables["runs"][0]["run"]
    files.tables["probes"] = [{"run": run, "outcome": "", **probe} for probe in probes]
    files.tables["keys"] = [{"run": run, **press} for press in keys]
    return files.write(tmp_path)


def test_a_probe_counts_if_its_minute_was_served_and_by_the_series_that_begins_in_it(tmp_path: Path) -> None:
    begins = [0, 100_000_000, 200_000_000, 300_000_000, 400_000_000]
    served = [MINUTE_US, 160_000_000, 259_999_999, 360_000_000, 460_000_000]
    presses = [
        *({"key": "performance", "t_us": at} for at in (MINUTE_US, 300_000_000, 300_999_999, 460_000_001)),
        {"key": "power", "t_us": 110_000_000},
    ]
    probes = [
        {"t_us": begin, "sham": begin == 0, "served_us": until} for begin, until in zip(begins, served, strict=True)
    ]

    trials = read_export(export_with(tmp_path, probes, presses)).trials

    assert [(trial.sham, trial.pressed) for trial in trials] == [
        (True, True),
        (False, False),  # the power key; HAPPE did not serve the third probe's whole minute
        (False, False),  # a press at the beginning, and one of its series
        (False, False),  # after the minute
    ]


def test_what_is_neither_true_nor_false_is_named(tmp_path: Path) -> None:
    export = export_with(tmp_path, [{"t_us": 0, "sham": "perhaps", "served_us": 1}], [])

    with pytest.raises(InputError, match=r"probes\.csv: row 1: sham: must be true or false, is 'perhaps'"):
        read_export(export)


def field_study(folder: Path, seed: int, **changes: object) -> Path:
    """Simulate a field study with two hours a day, and return its export."""
    wanted = {"notice": NOTICE, "other": OTHER_AN_HOUR, "participants": 12, "days": 7, "hours": 2} | changes
    options = [word for name, value in wanted.items() for word in (f"--{name}", str(value))]
    subprocess.run([HAPPE_SIM, "field", *options, "--seed", str(seed), "--out", folder], check=True)
    return folder / "export"


def found_in(export: Path) -> Noticed:
    """The estimate from an export."""
    return estimated(counted(read_export(export).trials))


@pytest.mark.slow
def test_simulated_field_studies_give_back_the_share_that_was_put_in(tmp_path: Path) -> None:
    """About 10 of 200 95 % intervals miss the share. Fewer than 1 of 200 such tests would have more than 19 misses."""
    truth = NOTICE * (1 - BY_CHANCE)
    found = [found_in(field_study(tmp_path / str(seed), seed)) for seed in range(FIRST_SEED, FIRST_SEED + STUDIES)]

    missed = sum(not each.low <= truth <= each.high for each in found)
    mean = float(np.mean([each.value for each in found]))
    half = float(np.mean([each.high - each.low for each in found])) / 2
    probes = float(np.mean([each.real.probes + each.sham.probes for each in found]))
    print(
        f"{STUDIES} studies: {truth:.4f} put in, {mean:.4f} found in the mean, half an interval {half:.3f}, "
        f"{probes:.0f} probes; {missed} intervals miss it"
    )
    assert missed <= 0.05 * STUDIES + 3 * math.sqrt(0.05 * 0.95 * STUDIES)
    assert mean == pytest.approx(truth, abs=4 * half / 2 / math.sqrt(STUDIES))


@pytest.mark.slow
def test_nobody_who_notices_nothing_is_said_to_notice(tmp_path: Path) -> None:
    export = field_study(tmp_path, FIRST_SEED, notice=0, other=3)

    report = make(Given(export))

    (section,) = (each for each in report.sections if each.key == "probes")
    assert section.data["low"] < 0 < section.data["high"]
    assert abs(section.data["real"]["probes"] - section.data["sham"]["probes"]) < 100
    assert section.tables[0].rows[2][0] == "Noticed: real less sham"


@pytest.mark.slow
def test_a_plan_of_probes_says_how_wide_the_interval_becomes(tmp_path: Path) -> None:
    field = field_study(tmp_path / "field", FIRST_SEED, participants=40, days=1, hours=0.25).parent
    file = given.PROTOCOLS / "extended.toml"
    assumed = ("--probes", field, "--half-width", "0.2", "--studies", "50", "--dropout", "0.25")
    other = given.paper_files().write(tmp_path).parent

    found = happe_server("plan", file, *assumed, "--json").json()
    shown = happe_server("plan", file, *assumed, "--participants", "8").out
    refused = happe_server("plan", file, "--probes", other)
    mixed = happe_server("plan", file, "--probes", field, "--like", other)

    assert [(each["participants"], each["left"], each["hours"]) for each in found] == [
        (12, 9, 2.25),
        (24, 18, 4.5),
        (36, 27, 6.75),
        (48, 36, 9),
        (72, 54, 13.5),
    ]
    assert all(small["narrow"] <= large["narrow"] for small, large in pairwise(found))
    assert "at most 0.2" in shown
    assert re.search(r"^8 +6 +1\.5 +\d\d +(none|0\.\d{3}) +\d+\.\d %$", shown, re.MULTILINE)
    assert (refused.status, "has no run under L-HAPPE" in refused.err) == (65, True)
    assert (mixed.status, "can't be combined with --like" in mixed.err) == (64, True)
