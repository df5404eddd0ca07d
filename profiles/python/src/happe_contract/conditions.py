# SPDX-License-Identifier: GPL-2.0-or-later
"""The names of a run's conditions, as protocols, sealed documents and exports write them (paper, section A.5)."""

ONDEMAND = "ondemand"  # the kernel's governor
T_HAPPE = "T-HAPPE"  # training
O_HAPPE = "O-HAPPE"  # operating
B_HAPPE = "B-HAPPE"  # operating, with the battery indicator
L_HAPPE = "L-HAPPE"  # operating in mode `extended`, which tries lower frequencies by itself
HAPPE = "-HAPPE"  # the end of each condition of HAPPE's
FIXED = "fixed-"  # the begin of fixed-N, the Nth frequency of the ladder from below (section A.3)
WITH_INDICATOR = "+indicator"  # the end of the label of another condition that shows the battery indicator

NAMED = (ONDEMAND, T_HAPPE, O_HAPPE, B_HAPPE, L_HAPPE)
OPERATING = (O_HAPPE, B_HAPPE)  # "otherwise equivalent" (section A.5.1.3)


def is_happe(condition: str) -> bool:
    """Whether HAPPE governs under a condition."""
    return condition.endswith(HAPPE)


def level_of(condition: str) -> int | None:
    """N of fixed-N; None for another condition."""
    number = condition.removeprefix(FIXED)
    return int(number) if number != condition and number.isascii() and number.isdigit() else None


def in_order(condition: str) -> tuple[int, int, str]:
    """A sort key for labels of conditions: the paper's order, then fixed-1, fixed-2, ..."""
    name = condition.removesuffix(WITH_INDICATOR)
    shown = int(name != condition)
    return (NAMED.index(name), shown, "") if name in NAMED else (len(NAMED), level_of(name) or 0, name)
