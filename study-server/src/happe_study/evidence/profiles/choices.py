# SPDX-License-Identifier: GPL-2.0-or-later
"""The fields of the form that searches profiles: each with its label, and its values with their labels. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.design.protocol.conditions import Keys
from happe_study.runs.records.demand import LEVELS

if TYPE_CHECKING:
    from happe_study.design.protocol.reading import Protocol

Choice = tuple[str, str, list[tuple[str, str]]]  # field, label, (value, words)

ORDER: Choice = (
    "sort",
    "Order",
    [
        ("participant", "by participant"),
        ("presses", "most presses first"),
        ("latest", "last taught first"),
        ("highest", "highest frequency first"),
        ("unusual", "most unusual first"),
    ],
)
KEYS: Choice = (
    "keys",
    "Taught by",
    [
        ("", "any"),
        ("none", "no press at all"),
        ("performance", "only presses of faster"),
        ("power", "only presses of save power"),
        ("both", "presses of both keys"),
    ],
)
END: Choice = (
    "end",
    "At the ladder\N{RIGHT SINGLE QUOTATION MARK}s end",
    [("", "any"), ("top", "a press asked for the top"), ("bottom", "a press asked for the bottom")],
)
CHANGE: Choice = (
    "change",
    "Changed by a run",
    [("", "any"), ("changed", "changed"), ("unchanged", "never changed")],
)
LEVEL: Choice = (
    "level",
    "Level",
    [("", "9, the highest"), *((str(level), str(level)) for level in range(LEVELS - 1))],
)
MARKED: Choice = (
    "marked",
    "Reviews",
    [
        ("", "any"),
        ("unreviewed", "not reviewed by me"),
        ("reviewed", "reviewed by me"),
        ("assigned", "assigned to me, not reviewed by me"),
        ("flagged", "flagged"),
        ("unflagged", "not flagged"),
        ("noted", "with notes"),
    ],
)
CHECK: Choice = (
    "check",
    "Lessons and result",
    [("", "any"), ("disagrees", "don\N{RIGHT SINGLE QUOTATION MARK}t agree"), ("agrees", "agree")],
)


# Suggested reasons for a flag; reviewers may write others.
REASONS = (
    "The ladder\N{RIGHT SINGLE QUOTATION MARK}s end limits it",
    "Presses contradict each other",
    "Too few presses",
    "Records and lessons disagree",
    "Another person or application",
)


def applications(protocol: Protocol, *, every: bool) -> Choice:
    """The field for the application; with `every` it has the choice "all"."""
    those = [(one.key, one.name) for one in protocol.applications]
    return ("application", "Application", ([("", "all")] if every else []) + those)


def seldom(protocol: Protocol) -> list[Choice]:
    """The fields that people use less often."""
    teach = [(each.label, each.label) for each in protocol.conditions if each.keys is Keys.ACT]
    return [("condition", "Taught under", [("", "any condition"), *teach]), KEYS, END, CHANGE, MARKED, CHECK, LEVEL]
