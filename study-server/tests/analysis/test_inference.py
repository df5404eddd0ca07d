# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals cover, tests keep their error of the first kind, and indices equal the published ones. Seeds are fixed."""

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.oneway import anova_oneway

import given_exports as given
import inference_grid as grid
from happe_study.results.analysis import blinding_index, groups, intervals, noninferiority, planning, savings
from happe_study.results.analysis.blinding_index import Guess
from happe_study.results.analysis.intervals import Unseen
from happe_study.results.analysis.noninferiority import Verdict, Wanted
from happe_study.results.analysis.plan import ASSUMPTIONS, Plan, Power, powers
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.sections import ratings
from happe_study.results.analysis.tidy import Panel, satisfaction, watts

Floats = NDArray[np.float64]


SAMPLE = 40  # studies of each cell
ALPHA = 0.025
COMPARED = ("O-HAPPE", "ondemand")
WANTED = Wanted(0.25, ALPHA, 4.0)


def panel(treated: Floats, base: Floats) -> Panel:
    """A panel of two conditions: participants x applications each."""
    codes = tuple(given.code("P", n) for n in range(len(treated)))
    applications = tuple(f"a{n}" for n in range(treated.shape[1]))
    return Panel(np.stack([base, treated], axis=2), codes, applications, ("ondemand", "O-HAPPE"))


@pytest.mark.slow
def test_intervals_and_tests_hold_in_a_sample_of_the_worlds() -> None:
    """`make validate` draws more studies, of all sizes; docs/inference.md has the table."""
    sizes = cycle((8, 24))  # the next world of a method gets the other size
    cells = [cell for method in grid.methods() for cell in grid.run(method, next(sizes), SAMPLE)]
    assert [each for each in cells if each.missed] == []


def test_more_participants_show_more_and_the_difference_counts() -> None:
    def power(people: int, **other: float) -> Power:
        assumed = {each.name: each.default for each in ASSUMPTIONS} | other
        plan = Plan([people], 2000, WANTED.margin, WANTED.alpha, int(WANTED.width), 4, assumed)
        draw = planning.drawing(plan)
        return powers(plan, [planning.counted(plan, draw, batch) for batch in plan.batches()])[0]

    sizes = [power(people) for people in (12, 24, 48)]
    assert [each.power for each in sizes] == sorted(each.power for each in sizes)
    assert power(48, difference=-0.1).power < sizes[2].power
    assert power(48, minority=0.1).power < sizes[2].power / 2
    assert power(48, dropout=0.25).power == power(36).power < sizes[2].power
    assert power(6, dropout=0.5).power == 0
    assert power(12, spread=0.2).saving_power < sizes[0].saving_power
    with pytest.raises(Refusal, match="no shift"):
        planning.shift_for(planning.Assumptions(), 3.0)
    with pytest.raises(Refusal, match="leave some for chance"):
        planning.simulated(planning.Assumptions(between=1.0), 24, 1)


def test_without_skewness_the_limits_are_students_and_with_it_the_wider_ones() -> None:
    gaps = np.array([-0.5, -0.25, -0.25, 0.0, 0.0, 0.25, 0.25, 0.5]) - 0.05
    student = stats.ttest_1samp(gaps, -0.4, alternative="greater")
    assert intervals.limits(gaps, ALPHA, Unseen()) == pytest.approx(
        tuple(stats.ttest_1samp(gaps, 0).confidence_interval())
    )
    assert float(intervals.p_above(gaps, -0.4, -0.4)) == pytest.approx(student.pvalue)
    tail = np.append(gaps, -2.0)
    plain = stats.ttest_1samp(tail, 0).confidence_interval(0.95)
    low, high = intervals.limits(tail, ALPHA, Unseen())
    assert low < plain.low
    assert high == pytest.approx(plain.high)


def test_limit_and_p_say_the_same() -> None:
    assumed = planning.shift_for(planning.Assumptions(), -0.05)
    shown = set()
    for each in planning.simulated(assumed, 24, 60).differences:
        found = noninferiority.test(panel(each[:, None], np.zeros((24, 1))), *COMPARED, WANTED)
        assert (found.verdict is Verdict.NON_INFERIOR) == (found.p < ALPHA)
        assert found.low < found.difference < found.high
        shown.add(found.verdict)
    assert shown == {Verdict.NON_INFERIOR, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize(
    ("worse", "people", "verdict", "why"),
    [
        (2.54, 9, "inferior: the whole interval is below -0.250", ""),
        (0.25, 36, "inconclusive: the interval contains -0.250", ""),
        (0.0, 36, "non-inferior: the whole interval is above -0.250", ""),
        (0.0, 18, "inconclusive: the interval contains -0.250", "18 people are too few to rule out"),
    ],
)
def test_the_verdict_is_one_of_three_and_says_what_is_in_the_way(
    worse: float, people: int, verdict: str, why: str
) -> None:
    gaps = np.array([-0.5, -0.25, -0.25, 0.0, 0.0, 0.0, 0.25, 0.25, 0.5]) / 2 - worse
    compared = panel(np.tile(gaps, people // 9)[:, None], np.zeros((people, 1)))
    found = noninferiority.test(compared, *COMPARED, WANTED)
    assert ratings.outcome(found) == verdict
    assert why in " ".join(found.why)
    assert bool(found.why) == bool(why)


def test_missing_pairs_are_taken_at_their_worst_and_the_tipping_point_says_when_the_verdict_turns() -> None:
    gaps = np.random.default_rng(3).normal(0, 0.8, (48, 4))
    whole = noninferiority.test(panel(gaps, np.zeros((48, 4))), *COMPARED, WANTED)
    assert (whole.verdict, whole.tipping, len({each.low for each in whole.sets})) == (Verdict.NON_INFERIOR, None, 1)
    gaps[:2, 3] = np.nan
    few = noninferiority.test(panel(gaps, np.zeros((48, 4))), *COMPARED, WANTED)
    assert few.verdict is Verdict.NON_INFERIOR
    assert few.low < few.sets[1].low
    assert few.tipping is not None
    worse = np.where(np.isnan(gaps), np.nanmean(gaps, axis=0) - few.tipping, gaps).mean(axis=1)
    assert intervals.limits(worse, ALPHA, Unseen())[0] == pytest.approx(-0.25, abs=1e-5)
    gaps[:36, 3], gaps[40, 3] = np.nan, -3.0
    many = noninferiority.test(panel(gaps, np.zeros((48, 4))), *COMPARED, WANTED)
    assert many.verdict is Verdict.INCONCLUSIVE
    assert many.why[0].startswith("The verdict depends on the 36 missing pairs: non-inferior without them")


def test_missing_ratings_are_counted_and_left_out_by_pairs() -> None:
    base, treated = np.full((6, 2), 4.0), np.array([[4.0, 5], [4, 4], [3, 4], [5, 5], [4, 3], [np.nan, np.nan]])
    base[0, 1] = np.nan
    found = noninferiority.test(panel(treated, base), *COMPARED, Wanted(0.5, ALPHA, 4.0))
    assert (found.participants, found.pairs, found.missing) == (5, 9, 3)
    assert found.difference == pytest.approx(np.mean([0, 0, -0.5, 1, -0.5]))


@pytest.mark.parametrize(
    ("treated", "why"),
    [(np.full((8, 2), 5.0), "same figure"), (np.full((2, 2), 5.0), "needs at least 5")],
)
def test_a_test_without_scatter_or_people_is_refused(treated: Floats, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        noninferiority.test(panel(treated, np.full_like(treated, 4.0)), *COMPARED, WANTED)


def test_a_condition_that_nobody_had_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="no run was under fixed-9"):
        noninferiority.test(given.paper_runs().panel(satisfaction), "fixed-9", "ondemand", WANTED)


def test_savings_need_people_scatter_and_pairs() -> None:
    with pytest.raises(Refusal, match="4 participants"):
        savings.typical(np.full((4, 1), 30.0), np.full((4, 1), 40.0))
    with pytest.raises(Refusal, match="same figure"):
        savings.typical(np.full((8, 1), 30.0), np.full((8, 1), 40.0))
    apart = panel(np.array([[30.0 + n, np.nan] for n in range(8)]), np.array([[40.0, 41]] * 8))
    with pytest.raises(Refusal, match="in every application"):
        savings.of_application(apart, *COMPARED, None)
    half = np.column_stack([np.arange(30.0, 38), np.where(np.arange(8) < 4, np.nan, 30.0)])
    with pytest.raises(Refusal, match="of the pairs are missing; more than 25%"):
        savings.typical(np.column_stack([half, half[:, 1:]]), np.full((8, 3), 40.0))


def test_a_missing_run_costs_its_pair_and_no_more() -> None:
    runs = given.paper_runs().panel(watts)
    values = runs.values.copy()
    values[0, 1, 2] = np.nan  # one participant's Quake 3 under O-HAPPE
    holed = Panel(values, runs.participants, runs.applications, runs.conditions)
    keys = (*runs.applications, None)
    whole = {key: savings.of_application(runs, "O-HAPPE", "ondemand", key) for key in keys}
    found = {key: savings.of_application(holed, "O-HAPPE", "ondemand", key) for key in keys}
    assert (found["quake3"].pairs, found["quake3"].missing, found["quake3"].estimate.participants) == (23, 1, 23)
    expected = 1 - values[1:, 1, 2].mean() / values[1:, 1, 0].mean()
    assert found["quake3"].paper == pytest.approx(expected)
    assert found["quake3"].estimate.low < whole["quake3"].estimate.low
    assert found["quake3"].estimate.high > whole["quake3"].estimate.high
    assert found["torcs"] == whole["torcs"]
    assert (found[None].pairs, found[None].estimate.participants) == (95, 24)


# Guess x arm (learning, usual). The rows: right for the first arm, right for the second, don't know.
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
    assert one[1].high - one[1].low > 2.5 * (other[1].high - other[1].low)
    fewer = [guess for guess in sure if guess.arm == 0 or guess.participant != people[0]]
    found = blinding_index.indices(fewer, ("usual", "learning"))
    assert [(each.name, each.participants, each.guesses) for each in found] == [
        ("James", 24, 376),
        ("Bang, usual", 24, 192),
        ("Bang, learning", 23, 184),
    ]
    with pytest.raises(Refusal, match="no participant guessed about runs of learning"):
        blinding_index.indices([guess for guess in sure if guess.arm == 0], ("usual", "learning"))


def test_few_people_who_guess_alike_by_chance_leave_the_published_error() -> None:
    alike = [Guess(given.code("P", n), arm, guess) for n in range(5) for arm in (0, 1) for guess in (0, 0, 1, 2)]
    half = float(stats.t.ppf(0.975, 4))
    for each in blinding_index.indices(alike, ("usual", "learning")):
        lowest = 0.0 if each.name == "James" else -1.0
        assert each.low == pytest.approx(max(lowest, each.value - half * each.published_error))
        assert each.high == pytest.approx(min(1.0, each.value + half * each.published_error))


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
    holed = power.values.copy()
    holed[10, 0, 1] = np.nan
    few = groups.of_question(replace(power, values=holed), ("T-HAPPE",), "ondemand", "games", answers).groups
    whole = groups.of_question(power, ("T-HAPPE",), "ondemand", "games", answers).groups
    assert few[0] == whole[0]
    one, other = few[1].estimate, whole[1].estimate
    assert one is not None
    assert other is not None
    assert one.low < other.low < other.high < one.high
    with pytest.raises(Refusal, match="fewer than two groups"):
        groups.of_question(power, ("O-HAPPE",), "ondemand", "games", dict.fromkeys(power.participants, "same"))
