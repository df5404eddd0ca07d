# SPDX-License-Identifier: GPL-2.0-or-later
"""Data made from the paper's figures give every printed cell of its tables again."""

import numpy as np
import pytest

import given_exports as given
from happe_study.results.analysis import paper_tables, savings
from happe_study.results.analysis.paper_tables import rounded
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.study import fixed, percent
from happe_study.results.analysis.tidy import Runs, watts
from happe_study.study.documents import T61, PowerModel

TOTAL_RATINGS = {"ondemand": "4.61", "T-HAPPE": "4.55", "O-HAPPE": "4.69", "B-HAPPE": "4.63"}  # section A.5.2


def test_table_a1_comes_out_as_printed_in_every_cell() -> None:
    found = {
        (cell.application, cell.condition): [
            fixed(cell.power_mean_w),
            fixed(cell.power_sd_w),
            fixed(cell.rating_mean),
            fixed(cell.rating_sd),
            percent(cell.improvement),
        ]
        for cell in paper_tables.table_a1(given.paper_runs())
    }
    columns = ("power_mean_w", "power_sd_w", "rating_mean", "rating_sd", "improvement_percent")
    printed = {(row["application"], row["condition"]): [row[name] for name in columns] for row in given.table("a1")}
    assert len(printed) == 16
    assert found == printed


def test_the_totals_of_section_a52_come_out_as_printed_and_the_mean_of_ratings_as_it_is() -> None:
    totals = {each.condition: each for each in paper_tables.totals(paper_tables.table_a1(given.paper_runs()))}
    assert {name: float(percent(totals[name].improvement)) for name in given.TOTALS} == given.TOTALS
    assert {name: str(each.rating_of_cells) for name, each in totals.items()} == TOTAL_RATINGS
    assert [fixed(totals[name].rating_mean, 3) for name in ("ondemand", "T-HAPPE")] == ["4.604", "4.542"]


def test_improvements_with_intervals_are_the_tables() -> None:
    cells = {(c.application, c.condition): c.improvement for c in paper_tables.table_a1(given.paper_runs())}
    panel = given.paper_runs().panel(watts)
    for condition in given.TOTALS:
        found = [savings.of_application(panel, condition, "ondemand", key) for key in (*panel.applications, None)]
        assert [each.paper for each in found[:-1]] == pytest.approx(
            [cells[application, condition] for application in panel.applications]
        )
        assert found[-1].paper == pytest.approx(np.mean([each.paper for each in found[:-1]]))
        assert all(each.estimate.low < each.estimate.value < each.estimate.high for each in found)


def test_table_a3_comes_out_as_printed_in_every_cell() -> None:
    found = {
        (row.application, row.phase): (row.performance, row.power) for row in paper_tables.table_a3(given.paper_runs())
    }
    for row in given.table("a3"):
        for phase in ("training", "operating"):
            rates = [fixed(rate) for rate in found[row["application"], phase]]
            assert rates == [row[f"{phase}_performance"], row[f"{phase}_power"]]


def test_rounding_is_half_away_from_zero_of_what_was_meant() -> None:
    assert [str(rounded(value)) for value in (4.875, 4.385, 2.675, -0.125, 4.8749)] == [
        "4.88",
        "4.39",
        "2.68",
        "-0.13",
        "4.87",
    ]


def test_the_t61_is_table_a2_and_gives_section_a53() -> None:
    rows = given.table("a2")
    assert T61.watts == tuple(tuple(float(row[str(n)]) for n in range(0, 101, 10)) for row in rows)
    assert [percent(savings.best(T61, at)) for at in (80, 90, 100)] == ["37.03", "38.81", "40.63"]


def test_between_utilisations_the_best_possible_is_reckoned_from_straight_lines() -> None:
    model = PowerModel("m", "2026-01-01", (1, 2), (0.0, 100.0), ((10.0, 20.0), (20.0, 40.0)))
    assert savings.best(model, 50) == pytest.approx(1 - 15 / 30)
    assert [bound.share for bound in savings.bounds(model, 0.25, (0, 100))] == pytest.approx([0.5, 0.5])


def test_without_presses_there_is_no_table_a3() -> None:
    with pytest.raises(Refusal, match="no run under HAPPE has counts"):
        paper_tables.table_a3(given.paper_runs().under(["ondemand"]))


def test_a_cell_without_runs_is_empty_and_two_runs_in_one_place_are_refused() -> None:
    runs = given.paper_runs()
    some = Runs(tuple(run for run in runs.rows if (run.application, run.condition) != ("glest", "ondemand")))
    cells = {(cell.application, cell.condition): cell for cell in paper_tables.table_a1(some)}
    assert cells["glest", "ondemand"].power_n == 0
    assert cells["glest", "O-HAPPE"].improvement is None
    assert paper_tables.totals(list(cells.values()))[2].improvement is None
    with pytest.raises(Refusal, match="two runs of torcs under ondemand"):
        Runs((runs.rows[0], runs.rows[0])).panel(watts)
