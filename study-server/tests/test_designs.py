# SPDX-License-Identifier: GPL-2.0-or-later
"""Williams designs are balanced, and each scheme has the conditions that the paper and the issue name."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, pairwise

import pytest

from happe_study.study.protocol.conditions import (
    B_HAPPE,
    L_HAPPE,
    O_HAPPE,
    ONDEMAND,
    ONDEMAND_INDICATOR,
    T_HAPPE,
    Condition,
    Keys,
    Phase,
    Scheme,
    conditions,
    sequences,
)
from happe_study.study.protocol.designs import Row, williams

EVERY = (
    ONDEMAND,
    ONDEMAND_INDICATOR,
    T_HAPPE,
    O_HAPPE,
    B_HAPPE,
    L_HAPPE,
    *(Condition(f"fixed-{n}") for n in range(1, 65)),
)


def require_balance(rows: Sequence[Row], treatments: int, squares: int) -> None:
    """Assert that in each square each treatment is once in each period, and once after each other treatment."""
    every = range(treatments)
    periods = Counter(chain.from_iterable(enumerate(row) for row in rows))
    assert periods == {(at, one): squares for at in every for one in every}
    following = Counter(chain.from_iterable(pairwise(row) for row in rows))
    assert following == {(one, other): squares for one in every for other in every if one != other}


def test_the_design_of_four_is_the_one_of_williams() -> None:
    assert williams(4) == ((0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1))


def test_the_design_of_three_has_two_squares() -> None:
    assert williams(3) == ((0, 1, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0), (0, 2, 1), (1, 0, 2))


@pytest.mark.parametrize("treatments", [*range(2, 14), 63, 64])
def test_a_williams_design_is_balanced(treatments: int) -> None:
    rows = williams(treatments)

    squares = 1 if treatments % 2 == 0 else 2
    assert len(rows) == len(set(rows)) == squares * treatments
    require_balance(rows, treatments, squares)


def test_the_design_of_one_is_one() -> None:
    assert williams(1) == ((0,),)


@pytest.mark.parametrize("treatments", [0, -1])
def test_there_is_no_design_of_no_treatments(treatments: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        williams(treatments)


def test_the_papers_order_is_fixed() -> None:
    assert sequences(Scheme.PAPER) == ((ONDEMAND, T_HAPPE, O_HAPPE, B_HAPPE),)


@pytest.mark.parametrize(("levels", "expected"), [(2, 2), (5, 10), (64, 64)])
def test_levels_are_in_williams_order(levels: int, expected: int) -> None:
    rows = sequences(Scheme.LEVELS, levels)

    every = conditions(Scheme.LEVELS, levels)
    assert [condition.label for condition in every] == [f"fixed-{n}" for n in range(1, levels + 1)]
    assert len(rows) == expected
    require_balance([tuple(every.index(condition) for condition in row) for row in rows], levels, expected // levels)


@pytest.mark.parametrize("levels", [None, 0, 1, 65])
def test_levels_are_two_to_sixty_four(levels: int | None) -> None:
    with pytest.raises(ValueError, match="must be 2 to 64"):
        conditions(Scheme.LEVELS, levels)


def test_the_crossover_trains_first_and_then_balances_governor_and_indicator() -> None:
    rows = sequences(Scheme.CROSSOVER)

    main = (ONDEMAND, ONDEMAND_INDICATOR, O_HAPPE, B_HAPPE)
    assert {row[0] for row in rows} == {T_HAPPE}
    require_balance([tuple(main.index(condition) for condition in row[1:]) for row in rows], 4, 1)
    assert {(c.governor == "ondemand", c.indicator) for c in main} == {
        (a, b) for a in (True, False) for b in (True, False)
    }


def test_mode_extended_is_compared_with_the_paper_s_in_both_orders_after_the_training() -> None:
    assert sequences(Scheme.EXTENDED) == ((T_HAPPE, O_HAPPE, L_HAPPE), (T_HAPPE, L_HAPPE, O_HAPPE))


def test_a_condition_is_known_by_its_label(subtests: pytest.Subtests) -> None:
    for condition in EVERY:
        with subtests.test(condition.label):
            assert Condition.of_label(condition.label) == condition


def test_labels_are_different() -> None:
    assert len({condition.label for condition in EVERY}) == len(EVERY)


@pytest.mark.parametrize(
    "label",
    ["", "performance", "fixed-0", "fixed-65", "fixed-01", "fixed-1\n", "B-HAPPE+indicator", "+indicator", "o-happe"],
)
def test_other_labels_are_refused(label: str) -> None:
    with pytest.raises(ValueError, match="is not a condition"):
        Condition.of_label(label)


def test_b_happe_without_its_indicator_is_refused() -> None:
    with pytest.raises(ValueError, match="indicator"):
        Condition("B-HAPPE", indicator=False)


def test_only_the_training_phase_trains_and_only_happe_obeys_the_keys() -> None:
    assert [c.label for c in EVERY if c.phase is Phase.TRAINING] == ["T-HAPPE"]
    assert [c.label for c in EVERY if c.keys is Keys.ACT] == ["T-HAPPE", "O-HAPPE", "B-HAPPE", "L-HAPPE"]
