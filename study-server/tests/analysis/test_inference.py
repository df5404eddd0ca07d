# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals cover, tests keep their error of the first kind, indices are the published ones; all seeds are fixed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

import given_exports as given
from happe_study.results.analysis import blinding_index, groups, intervals, noninferiority, planning, savings, wins
from happe_study.results.analysis.blinding_index import Guess
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.sections import ratings
from happe_study.results.analysis.tidy import Panel, satisfaction, watts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STUDIES = int(os.environ.get("HAPPE_STUDIES", "2000"))  # make validate has more
ALPHA = 0.025
MONTE_CARLO = 1.96 * np.sqrt(ALPHA * (1 - ALPHA) / STUDIES)
MIDDLE = ((1, 2, 4, 6, 4),) * 4  # ratings in the middle of the scale, beside the paper's at its top


def panel(treated: Floats, base: Floats) -> Panel:
    """A panel of two conditions: participants x applications each."""
    codes = tuple(given.code("P", n) for n in range(len(treated)))
    applications = tuple(f"a{n}" for n in range(treated.shape[1]))
    return Panel(np.stack([base, treated], axis=2), codes, applications, ("ondemand", "O-HAPPE"))


def test_bootstrap_intervals_of_savings_cover_as_often_as_they_say() -> None:
    """24 people whose four figures resemble each other, HAPPE's skewed as where few press much: Table A.1's moments."""
    cells = {(row["application"], row["condition"]): row for row in given.table("a1")}
    moments = {
        condition: [
            np.array([float(cells[application, condition][f"power_{name}_w"]) for application in given.APPLICATIONS])
            for name in ("mean", "sd")
        ]
        for condition in ("ondemand", "O-HAPPE")
    }
    true = float((1 - moments["O-HAPPE"][0] / moments["ondemand"][0]).mean())
    generator, drawn = np.random.default_rng(5), intervals.weights(24, 999)
    covered = 0
    for _ in range(STUDIES):
        own = generator.normal(size=(24, 1))
        skewed = (generator.gamma(2, 1, (24, 4)) - 2) / np.sqrt(2)
        parts = {"ondemand": generator.normal(size=(24, 4)), "O-HAPPE": skewed}
        figures = {name: mean + sd * (0.5 * own + np.sqrt(0.75) * parts[name]) for name, (mean, sd) in moments.items()}
        found = savings.interval(figures["O-HAPPE"], figures["ondemand"], drawn=drawn)
        covered += found.low <= true <= found.high
    print(f"\n{100 * covered / STUDIES:.1f} % of intervals hold the truth")
    assert 0.93 <= covered / STUDIES <= 0.97


@pytest.mark.parametrize("frequencies", [planning.PAPER_RATINGS, MIDDLE], ids=["as the paper's", "mid-scale"])
def test_noninferiority_is_shown_falsely_no_more_often_than_alpha(frequencies: tuple[tuple[int, ...], ...]) -> None:
    assumed = planning.shift_for(planning.Assumptions(frequencies), -0.25)
    assert planning.difference(assumed) == pytest.approx(-0.25, abs=1e-9)
    found = planning.power(assumed, 24, margin=0.25, alpha=ALPHA, studies=STUDIES)
    assert abs(found.power - ALPHA) <= MONTE_CARLO


def test_more_participants_show_more_and_the_difference_counts() -> None:
    powers = planning.sizes(planning.Assumptions(), [12, 24, 48], margin=0.25, alpha=ALPHA)
    assert [each.power for each in powers] == sorted(each.power for each in powers)
    worse = planning.power(planning.shift_for(planning.Assumptions(), -0.1), 24, margin=0.25, alpha=ALPHA)
    assert worse.power < powers[1].power
    with pytest.raises(Refusal, match="no shift"):
        planning.shift_for(planning.Assumptions(), 3.0)
    with pytest.raises(Refusal, match="leave some for chance"):
        planning.power(planning.Assumptions(between=1.0), 24, margin=0.25, alpha=ALPHA)


def test_without_skewness_the_test_is_students() -> None:
    gaps = np.array([-0.5, -0.25, -0.25, 0.0, 0.0, 0.25, 0.25, 0.5]) - 0.05
    found = noninferiority.test(panel(gaps[:, None], np.zeros((8, 1))), "O-HAPPE", "ondemand", margin=0.4, alpha=ALPHA)
    student = stats.ttest_1samp(gaps, -0.4, alternative="greater")
    assert found.p == pytest.approx(student.pvalue)
    assert found.dof == student.df
    assert found.low == pytest.approx(student.confidence_interval(0.975).low)
    assert (found.low, found.high) == pytest.approx(found.plain)
    assert found.shown == (found.p < ALPHA)


def test_limit_and_p_say_the_same_and_a_long_lower_tail_lowers_the_limit() -> None:
    assumed = planning.shift_for(planning.Assumptions(), -0.1)
    shown = set()
    for each in planning.simulated(assumed, 24, 60):
        found = noninferiority.test(
            panel(each[:, None], np.zeros((24, 1))), "O-HAPPE", "ondemand", margin=0.25, alpha=ALPHA
        )
        assert found.shown == (found.p < ALPHA)
        assert found.low < found.difference < found.high
        assert (found.low < found.plain[0]) == (stats.skew(each) < 0)
        shown.add(found.shown)
    assert shown == {True, False}


@pytest.mark.parametrize(
    ("worse", "said"),
    [
        (
            2.54,
            "no: O-HAPPE is rated worse than ondemand by more than the margin, as the whole interval is below -0.250",
        ),
        (0.25, "not shown, which is not proof of the contrary"),
        (0.0, "shown"),
    ],
)
def test_the_report_says_which_side_of_the_margin_the_interval_is_on(worse: float, said: str) -> None:
    gaps = np.array([-0.5, -0.25, -0.25, 0.0, 0.0, 0.0, 0.25, 0.25, 0.5]) / 2 - worse
    compared = panel(gaps[:, None], np.zeros((9, 1)))
    found = noninferiority.test(compared, "O-HAPPE", "ondemand", margin=0.25, alpha=ALPHA)
    assert found.inferior == (found.high < -0.25)
    assert ratings.outcome(found) == said


def test_missing_ratings_are_counted_and_left_out_by_pairs() -> None:
    base, treated = np.full((6, 2), 4.0), np.array([[4.0, 5], [4, 4], [3, 4], [5, 5], [4, 3], [np.nan, np.nan]])
    base[0, 1] = np.nan
    found = noninferiority.test(panel(treated, base), "O-HAPPE", "ondemand", margin=0.5, alpha=ALPHA)
    assert (found.participants, found.pairs, found.missing) == (5, 9, 3)
    assert found.difference == pytest.approx(np.mean([0, 0, -0.5, 1, -0.5]))


@pytest.mark.parametrize(
    ("treated", "why"),
    [(np.full((8, 2), 5.0), "differ alike"), (np.full((2, 2), 5.0), "needs at least 5")],
)
def test_a_test_without_scatter_or_people_is_refused(treated: Floats, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        noninferiority.test(panel(treated, np.full_like(treated, 4.0)), "O-HAPPE", "ondemand", margin=0.25, alpha=ALPHA)


def test_a_condition_that_nobody_had_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="no run was under fixed-9"):
        noninferiority.test(given.paper_runs().panel(satisfaction), "fixed-9", "ondemand", margin=1, alpha=ALPHA)


def test_savings_need_people_scatter_and_pairs() -> None:
    with pytest.raises(Refusal, match="4 participants"):
        savings.interval(np.full((4, 1), 30.0), np.full((4, 1), 40.0))
    with pytest.raises(Refusal, match="no scatter"):
        savings.interval(np.full((8, 1), 30.0), np.full((8, 1), 40.0))
    apart = panel(np.array([[30.0 + n, np.nan] for n in range(8)]), np.array([[40.0, 41]] * 8))
    with pytest.raises(Refusal, match="in every application"):
        savings.savings(apart, "O-HAPPE", "ondemand")


def test_a_missing_run_costs_its_pair_and_no_more() -> None:
    runs = given.paper_runs().panel(watts)
    values = runs.values.copy()
    values[0, 1, 2] = np.nan  # one participant's Quake 3 under O-HAPPE
    holed = Panel(values, runs.participants, runs.applications, runs.conditions)
    whole = {each.application: each for each in savings.savings(runs, "O-HAPPE", "ondemand", resamples=999)}
    found = {each.application: each for each in savings.savings(holed, "O-HAPPE", "ondemand", resamples=999)}
    assert (found["quake3"].pairs, found["quake3"].missing, found["quake3"].estimate.participants) == (23, 1, 23)
    expected = 1 - values[1:, 1, 2].mean() / values[1:, 1, 0].mean()
    assert found["quake3"].estimate.value == pytest.approx(expected)
    assert found["torcs"] == whole["torcs"]
    assert (found[None].pairs, found[None].estimate.participants) == (95, 24)


def test_the_mean_of_a_figure_a_person_has_students_interval() -> None:
    values = np.random.default_rng(9).normal(size=20)
    found = intervals.of_means(values)
    student = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((student.low, student.high))


# Guess x arm: learning or usual, guessed; rows are right for the first arm, right for the second, don't know.
CRISP = np.array(
    [[82.0, 27], [25, 29], [170, 83]]
)  # Bang et al. 2004: 0.75; 0.21 (0.15, 0.26) and 0.01 (-0.07, 0.10), 90 %
SCHWARTZ = np.array([[48.0, 22], [4, 30], [330, 319]])  # R's package BI: 0.896 (0.011); 0.115 (0.018); 0.022 (0.019)


def test_blinding_indices_and_their_errors_are_the_published_ones() -> None:
    assert float(blinding_index.james(CRISP)) == pytest.approx(0.75, abs=0.005)
    for arm, value, limits in ((0, 0.21, (0.15, 0.26)), (1, 0.01, (-0.07, 0.10))):
        index, error = float(blinding_index.bang(CRISP, arm)), blinding_index.bang_error(CRISP, arm)
        assert index == pytest.approx(value, abs=0.005)
        assert (index - 1.645 * error, index + 1.645 * error) == pytest.approx(limits, abs=0.005)
    found = [float(blinding_index.james(SCHWARTZ)), *(float(blinding_index.bang(SCHWARTZ, arm)) for arm in (0, 1))]
    errors = [blinding_index.james_error(SCHWARTZ), *(blinding_index.bang_error(SCHWARTZ, arm) for arm in (0, 1))]
    assert found == pytest.approx([0.896, 0.115, 0.022], abs=0.0005)
    assert errors == pytest.approx([0.011, 0.018, 0.019], abs=0.0005)


@pytest.mark.parametrize(
    ("table", "index"),
    [([[0, 0], [0, 0], [9, 9]], 1.0), ([[5, 5], [5, 5], [0, 0]], 0.5), ([[9, 0], [0, 9], [0, 0]], 0.0)],
)
def test_james_index_is_1_for_ignorance_half_for_chance_0_for_knowledge(table: list[list[int]], index: float) -> None:
    assert float(blinding_index.james(np.array(table, dtype=float))) == pytest.approx(index)


def test_guesses_of_one_person_that_are_alike_widen_the_interval() -> None:
    people = [given.code("P", n) for n in range(24)]
    sure = [Guess(person, arm, n % 3) for n, person in enumerate(people) for arm in (0, 1) for _ in range(8)]
    mixed = [Guess(person, arm, (n + k) % 3) for n, person in enumerate(people) for arm in (0, 1) for k in range(8)]
    one, other = (
        blinding_index.indices(sure, ("usual", "learning")),
        blinding_index.indices(mixed, ("usual", "learning")),
    )
    assert one[1].value == pytest.approx(other[1].value, abs=0.01)
    assert one[1].high - one[1].low > 3 * (other[1].high - other[1].low)
    fewer = [guess for guess in sure if guess.arm == 0 or guess.participant != people[0]]
    found = blinding_index.indices(fewer, ("usual", "learning"))
    assert [(each.name, each.participants, each.guesses) for each in found] == [
        ("James", 24, 376),
        ("Bang, usual", 24, 192),
        ("Bang, learning", 23, 184),
    ]
    with pytest.raises(Refusal, match="nobody guessed about runs of learning"):
        blinding_index.indices([guess for guess in sure if guess.arm == 0], ("usual", "learning"))


def test_wins_are_counted_by_pairs_and_tested_by_people() -> None:
    base = np.full((10, 4), 3.0)
    treated = base + np.array([[1, 0, 0, 0], [1, 1, 0, -1], [0, 0, 0, 0], [1, 1, 1, 1], [0, -1, 0, 0]] * 2)
    treated[0, 3] = np.nan
    found = wins.wins(panel(treated, base), "O-HAPPE", "ondemand")
    assert (found.higher, found.alike, found.lower, found.missing) == (14, 21, 4, 1)
    scores = [4 / 6, 0.625, 0.5, 1, 0.375, 0.625, 0.625, 0.5, 1, 0.375]
    assert found.estimate.value == pytest.approx(np.mean(scores))
    leanings = np.array(scores) - 0.5
    exact = stats.permutation_test(
        (leanings,), lambda each: each.mean(), permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert found.p == pytest.approx(exact.pvalue)


def test_many_flips_are_drawn_and_agree_with_all_of_them() -> None:
    leanings = np.random.default_rng(10).normal(0.15, 0.4, 20)
    exact = stats.permutation_test(
        (leanings,), lambda each, axis: each.mean(axis=axis), permutation_type="samples", n_resamples=200_000, rng=1
    )
    assert wins.flip_p(leanings) == pytest.approx(exact.pvalue, abs=0.01)
    assert wins.flip_p(np.zeros(8)) == 1.0
    with pytest.raises(Refusal, match="same figure"):
        wins.wins(panel(np.full((8, 1), 3.0), np.full((8, 1), 3.0)), "O-HAPPE", "ondemand")


def test_groups_are_compared_as_statsmodels_does() -> None:
    generator = np.random.default_rng(11)
    samples = [generator.normal(mean, sd, n) for mean, sd, n in ((0.2, 0.02, 9), (0.25, 0.05, 5), (0.3, 0.01, 10))]
    f, dof, p = groups.welch(samples)
    other = anova_oneway(
        np.concatenate(samples), np.repeat([0, 1, 2], [9, 5, 10]), use_var="unequal", welch_correction=True
    )
    assert (f, *dof, p) == pytest.approx((other.statistic, *other.df, other.pvalue))
    raw = [0.01, 0.04, 0.03, 0.2, 0.005]
    assert groups.holm(raw) == pytest.approx(multipletests(raw, method="holm")[1])
    assert groups.holm([]) == []


def test_groups_have_the_papers_figure_and_lone_answers_are_left_out() -> None:
    power = given.paper_runs().panel(watts)
    answers = {code: "beginner" if n < 8 else "master" for n, code in enumerate(power.participants)}
    answers[power.participants[-1]] = "alone"
    found = groups.of_question(power, ("T-HAPPE", "O-HAPPE"), "ondemand", "games", answers)
    assert [(each.answer, each.participants) for each in found.groups] == [("beginner", 8), ("master", 15)]
    assert found.left_out == ("alone",)
    means = power.values[:8].mean(axis=0)  # application x condition
    expected = np.mean([1 - means[:, 1] / means[:, 0], 1 - means[:, 2] / means[:, 0]])
    assert found.groups[0].paper == pytest.approx(expected)
    with pytest.raises(Refusal, match="fewer than two groups"):
        groups.of_question(power, ("O-HAPPE",), "ondemand", "games", dict.fromkeys(power.participants, "same"))
