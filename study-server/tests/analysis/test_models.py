# SPDX-License-Identifier: GPL-2.0-or-later
"""The models agree with published figures, statsmodels and scipy, and refuse data that give no answer."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import optimize, stats
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.tools.numdiff import approx_hess

import given_exports as given
from happe_study.results.analysis import clustered, power_model, ratings_clmm
from happe_study.results.analysis.design import changing_places, period_terms
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import indicators

Floats = NDArray[np.float64]


# Bitterness of wines, Randall, The analysis of sensory data by generalised linear model, Biometrical Journal 31 (1989),
# as in table 1 of the clmm2 tutorial of R's package ordinal: a row a bottle, a column a judge.
WINE = """
cold no  2 1 2 3 2 3 1 2 1
cold no  3 2 3 2 3 2 1 2 2
cold yes 3 1 3 3 4 3 2 2 3
cold yes 4 3 2 2 3 2 2 3 2
warm no  4 2 5 3 3 2 2 3 3
warm no  4 3 5 2 3 4 3 3 2
warm yes 5 5 4 5 3 5 2 3 4
warm yes 5 4 4 3 3 4 3 4 4
"""


def wine() -> tuple[list[int], Floats, list[str]]:
    """Ratings, warm and contact, judges."""
    ratings, columns, judges = [], [], []
    for line in WINE.strip().splitlines():
        temperature, contact, *row = line.split()
        for judge, rating in enumerate(row):
            ratings.append(int(rating))
            columns.append([float(temperature == "warm"), float(contact == "yes")])
            judges.append(str(judge))
    return ratings, np.array(columns), judges


def figures(fitted: ratings_clmm.Fit) -> tuple[list[float], list[float]]:
    """Estimates and errors of the thresholds, then of the effects."""
    every = [(each.estimate, each.error) for each in fitted.thresholds]
    every += [(each.estimate, each.model_error) for each in fitted.effects]
    return [estimate for estimate, _ in every], [error for _, error in every]


def test_the_mixed_model_of_the_wine_data_is_that_of_r_ordinal_with_as_many_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """clmm(rating ~ temp + (1 | judge), nAGQ = 31): issue 651 of R's ggeffects prints its summary."""
    monkeypatch.setattr(ratings_clmm, "NODES", 31)
    ratings, columns, judges = wine()
    fitted = ratings_clmm.fit(ratings, columns[:, :1], ["warm"], judges)
    assert round(fitted.log_likelihood, 2) == -88.70
    assert round(2 * fitted.parameters - 2 * fitted.log_likelihood, 2) == 189.41  # AIC
    assert (round(fitted.sigma**2, 4), round(fitted.sigma, 3)) == (0.9045, 0.951)
    assert (fitted.ratings, fitted.participants) == (72, 9)


def test_with_a_single_node_it_is_r_ordinals_laplace_fit_and_with_all_within_a_hundredth_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """clmm(rating ~ temp + contact + (1 | judge)): the examples in the reference of glance.clmm, of R's broom."""
    log_likelihood, estimates = -81.56541, [-1.62, 1.51, 4.23, 6.09, 3.06, 1.83]
    errors, z = [0.682, 0.604, 0.809, 0.972, 0.595, 0.513], [-2.38, 2.51, 5.23, 6.26, 5.14, 3.58]
    fitted = ratings_clmm.fit(*wine()[:2], ["warm", "contact"], wine()[2])
    found, spread = figures(fitted)
    assert found == pytest.approx(estimates, abs=0.01)
    assert spread == pytest.approx(errors, abs=0.01)
    assert np.divide(found, spread) == pytest.approx(z, abs=0.01)
    assert (fitted.parameters, fitted.ratings, fitted.participants) == (7, 72, 9)

    monkeypatch.setattr(ratings_clmm, "NODES", 1)  # Laplace's approximation, which has another gradient
    model = ratings_clmm._Model.of(wine()[0], wine()[1], ["warm", "contact"], wine()[2])  # noqa: SLF001 - by themselves

    def loss(natural: Floats) -> float:
        return -model.likelihood(natural, with_sigma=True)[0]

    best = optimize.minimize(lambda free: loss(model.natural(free)), np.append(model.start(), 0.0), method="BFGS")
    natural = model.natural(best.x)
    assert -best.fun == pytest.approx(log_likelihood, abs=1e-5)
    assert natural[:6] == pytest.approx(estimates, abs=0.005)
    assert np.sqrt(np.diag(np.linalg.inv(approx_hess(natural, loss)))[:6]) == pytest.approx(errors, abs=0.0005)


def test_where_people_do_not_differ_it_is_statsmodels_ordered_model() -> None:
    generator = np.random.default_rng(4)
    x = generator.normal(size=(300, 2))
    ratings = np.digitize(x @ [0.7, -0.4] + generator.logistic(size=300), [-1.0, 0.5, 2.0]) + 1
    people = [str(n % 30) for n in range(300)]
    fitted = ratings_clmm.fit(ratings.tolist(), x, ["a", "b"], people)
    other = OrderedModel(ratings, x, distr="logit").fit(method="bfgs", disp=0, gtol=1e-8)
    assert fitted.sigma == 0.0
    assert [each.estimate for each in fitted.effects] == pytest.approx(other.params[:2], abs=1e-4)
    assert [each.model_error for each in fitted.effects] == pytest.approx(other.bse[:2], abs=1e-4)
    assert fitted.log_likelihood == pytest.approx(other.llf, abs=1e-6)


def test_of_one_effect_the_joint_test_is_nearly_its_own() -> None:
    generator = np.random.default_rng(5)
    own = np.repeat(generator.normal(0, 4, 20), 12)
    x = generator.integers(0, 2, size=(240, 1)).astype(float)
    ratings = np.digitize(own + x[:, 0] + generator.logistic(size=240), [-4.0, -1.0, 1.0, 4.0]) + 1
    fitted = ratings_clmm.fit(ratings.tolist(), x, ["x"], [str(n // 12) for n in range(240)])
    together = ratings_clmm.test_together(fitted, ["x"])
    assert together.dof == (1, 19)
    assert together.p == pytest.approx(fitted.effects[0].p, abs=0.01)


def test_errors_of_ratings_are_the_jackknifes_that_fits_again_without_each_participant() -> None:
    generator = np.random.default_rng(12)
    x = np.tile([0.0, 1.0], 120)[:, None]
    own = (
        np.repeat(generator.normal(0, 1, (20, 1)), 12, axis=0)
        + np.repeat(generator.normal(0, 2, (20, 1)), 12, axis=0) * x
    )
    ratings = np.digitize(own[:, 0] + generator.logistic(size=240), [-2.0, 0.0, 1.5]) + 1
    people = np.repeat(np.arange(20), 12)

    def effect(keep: NDArray[np.bool_]) -> ratings_clmm.Effect:
        return ratings_clmm.fit(ratings[keep].tolist(), x[keep], ["x"], [str(each) for each in people[keep]]).effects[0]

    whole = effect(people >= 0)
    without = np.array([effect(people != person).estimate for person in range(20)])
    again = float(np.sqrt(19 / 20 * ((without - whole.estimate) ** 2).sum()))
    assert whole.error == pytest.approx(again, rel=0.02)
    assert whole.error > 1.3 * whole.model_error


@pytest.mark.parametrize(
    ("ratings", "columns", "people", "why"),
    [
        ([5] * 30, np.arange(30.0), [str(n % 6) for n in range(30)], "all ratings are equal"),
        ([4, 5] * 15, np.arange(30) % 2.0, [str(n % 6) for n in range(30)], "separates the ratings perfectly"),
        ([4, 5, 5, 5] * 8, np.arange(32) % 2.0, [str(n % 6) for n in range(32)], "has no bound|perfectly"),
        ([4, 5] * 15, np.arange(30.0), ["one"] * 30, "1 participants"),
        ([4, 5, 5] * 10, np.ones(30), [str(n % 6) for n in range(30)], "can't separate"),
        ([], np.empty(0), [], "there are no ratings"),
    ],
)
def test_ratings_without_an_answer_are_refused(
    ratings: list[int], columns: Floats, people: list[str], why: str
) -> None:
    with pytest.raises(Refusal, match=why):
        ratings_clmm.fit(ratings, columns.reshape(-1, 1), ["x"], people)


Balanced = tuple["Floats", "Floats", dict[str, "NDArray[np.int64]"]]


@pytest.fixture(scope="module")
def balanced() -> Balanced:
    """Log W of 24 people, 4 applications, 3 conditions; the design; and each run's person, application, condition."""
    generator = np.random.default_rng(1)
    n, a, c = 24, 4, 3
    who, app, condition = np.meshgrid(range(n), range(a), range(c), indexing="ij")
    y = (
        3.5
        + generator.normal(0, 0.05, n)[who]
        + generator.normal(0, 0.03, (n, a))[who, app]
        + generator.normal(0, 0.04, (n, c))[who, condition]
        + np.array([0, -0.3, -0.25])[condition]
        + generator.normal(0, 0.05, who.shape)
    )
    columns = [condition == 1, condition == 2, app == 1, app == 2, app == 3]
    design = np.column_stack([each.ravel() for each in columns]).astype(float)
    return y.ravel(), design, {"who": who.ravel(), "app": app.ravel(), "condition": condition.ravel()}


def mixed(y: Floats, design: Floats, which: dict[str, Any], keep: Any = slice(None)) -> power_model.Fit:  # noqa: ANN401 - an index of numpy
    """Our fit of some of the runs."""
    words: dict[str, Sequence[str]] = {name: [str(value) for value in values[keep]] for name, values in which.items()}
    used = design[keep]
    names = [f"x{n}" for n in range(used.shape[1]) if used[:, n].any()]
    used = used[:, used.any(axis=0)]
    within = {"application": words["app"], "condition": words["condition"]}
    return power_model.fit(y[keep].tolist(), used, names, words["who"], within)


@pytest.mark.parametrize("missing", [0, 40])
def test_the_model_of_power_is_statsmodels_mixed_model(balanced: Balanced, missing: int) -> None:
    y, design, which = balanced
    keep = np.sort(np.random.default_rng(6).permutation(len(y))[missing:])
    ours = mixed(y, design, which, keep)
    parts = {
        name: {
            p: (which[name][keep][which["who"][keep] == p][:, None] == np.arange(4)).astype(float) for p in range(24)
        }
        for name in ("app", "condition")
    }
    labels = {name: {p: [str(k) for k in range(4)] for p in range(24)} for name in parts}
    components = sm.regression.mixed_linear_model.VCSpec(
        list(parts), [list(each.values()) for each in labels.values()], [list(each.values()) for each in parts.values()]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM(
            y[keep], sm.add_constant(design[keep]), which["who"][keep], np.ones(len(keep)), exog_vc=components
        ).fit(method=["lbfgs", "bfgs"], gtol=1e-9)
    assert [term.estimate for term in ours.terms] == pytest.approx(theirs.fe_params, abs=1e-5)
    assert [term.error for term in ours.terms] == pytest.approx(theirs.bse_fe, rel=1e-3)
    assert ours.criterion == pytest.approx(-2 * theirs.llf, abs=1e-4)
    spread = [*np.sqrt(np.append(theirs.cov_re.ravel(), theirs.vcomp)), np.sqrt(theirs.scale)]
    assert list(ours.deviations.values()) == pytest.approx(spread, rel=2e-3)


def test_a_random_part_that_people_do_differ_in_is_not_lost_where_they_differ_more_in_another() -> None:
    """If people's own levels differ much, a search by standard deviations finds no spread of their effects."""
    generator = np.random.default_rng(7)
    person, app, treated = (each.ravel() for each in np.meshgrid(range(48), range(4), range(2), indexing="ij"))
    for _ in range(10):
        y = generator.normal(0, 0.3, 48)[person] + generator.normal(0, 0.06, 48)[person] * treated
        y = y + generator.normal(0, 0.05, len(y))
        fitted = mixed(y, treated[:, None].astype(float), {"who": person, "app": app, "condition": treated})
        assert fitted.deviations["participant:condition"] > 0.01
        assert fitted.term("x0").dof == pytest.approx(47, rel=1e-3)


def test_in_a_balanced_study_degrees_of_freedom_are_those_of_the_analysis_of_variance(balanced: Balanced) -> None:
    """(24 - 1)(3 - 1) for conditions, 23 x 3 for applications. With two conditions, the test is the paired t-test."""
    y, design, which = balanced
    fitted = mixed(*balanced)
    assert [term.dof for term in fitted.terms[1:]] == pytest.approx([46, 46, 69, 69, 69], rel=1e-4)
    two = mixed(y, design, which, which["condition"] < 2).term("x0")
    means = y.reshape(24, 4, 3).mean(axis=1)
    paired = stats.ttest_rel(means[:, 1], means[:, 0])
    assert (two.t, two.p, two.dof) == pytest.approx((paired.statistic, paired.pvalue, 23), rel=1e-4)


@pytest.mark.parametrize(
    ("people", "y", "why"),
    [
        (["a"] * 8, np.arange(8.0), "1 participants"),
        (list("aabbccdd"), np.ones(8), "do not differ"),
        (list("abcdefgh"), np.arange(8.0), None),
    ],
)
def test_power_without_an_answer_is_refused(people: list[str], y: Floats, why: str | None) -> None:
    columns = np.array([[n % 2.0] for n in range(8)])
    if why is None:
        assert power_model.fit(y.tolist(), columns, ["x"], people, {}).deviations == {
            "residual": pytest.approx(2.582, abs=0.001)
        }
        return
    with pytest.raises(Refusal, match=why):
        power_model.fit(y.tolist(), columns, ["x"], people, {})


def test_period_and_carry_over_are_found_in_a_crossover_and_refused_in_a_fixed_order() -> None:
    runs = changing_places(given.crossover_runs())
    assert set(runs.conditions) == set(given.MAIN)
    more, names = period_terms(runs)
    after = ["after O-HAPPE", "after ondemand", "after ondemand+indicator"]
    assert list(names) == ["place 3", "place 4", "place 5", *after]
    condition = indicators([run.condition for run in runs.rows], given.MAIN)
    columns = np.hstack([condition, indicators([run.application for run in runs.rows], runs.applications), more])
    people = [run.participant for run in runs.rows]
    within = {"condition": [run.condition for run in runs.rows], "application": [run.application for run in runs.rows]}
    values = [float(np.log(run.mean_w or 0)) for run in runs.rows]
    fitted = power_model.fit(values, columns, [*given.MAIN[1:], *runs.applications[1:], *names], people, within)
    assert fitted.term("place 5").low < -3 * given.FATIGUE < fitted.term("place 5").high
    assert fitted.term("O-HAPPE").low < np.log(0.75) < fitted.term("O-HAPPE").high
    with pytest.raises(Refusal, match="the same order"):
        changing_places(given.paper_runs())


@pytest.mark.parametrize("seed", range(6, 12))
def test_rounding_does_not_hide_that_all_depends_on_one_participant(seed: int) -> None:
    # given four people whose runs tell about only two of three parameters: what they tell of the third is rounding
    draw = np.random.default_rng(seed)
    known = draw.normal(size=(2, 3))
    people = [
        sum(part * np.outer(one, one) for part, one in zip(draw.uniform(size=2), known, strict=True)) for _ in range(4)
    ]
    # when only one more person tells about the third, then there are no errors by participant
    only = draw.normal(size=3)
    with pytest.raises(Refusal, match="depend on a single participant"):
        clustered.jackknifed(draw.normal(size=(5, 3)), np.array([*people, np.outer(only, only)]))
