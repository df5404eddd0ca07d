# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers to a questionnaire: checked and cleaned for storage. Pure."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from happe_study.base.languages import gettext
from happe_study.study.protocol.reading import Item, ItemKind

LONGEST_ANSWER = 200  # characters
LONGEST_ECHO = 4000  # characters of a too long answer that the page shows again, for its writer to shorten

# C0, DEL, C1, marks of text direction, noncharacters, lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d{1,12}(\.\d{1,6})?")

Answer = str | int | float


@dataclass(frozen=True)
class Answers:
    """The valid answers (`kept`) and the messages about wrong ones for the participant (`wrong`), by the item's key."""

    kept: dict[str, Answer] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


def read(items: Iterable[Item], form: Mapping[str, str]) -> Answers:
    """Read the answers from a form. It ignores fields without an item. An optional item may be empty."""
    found = Answers()
    for item in items:
        text = clean(form.get(item.key, ""))
        if problem := _problem(item, text):
            found.wrong[item.key] = problem
        elif text:
            found.kept[item.key] = _number(text) if item.kind is ItemKind.NUMBER else text
    return found


def clean(text: str) -> str:
    """The text in Unicode's form NFC, with single spaces for white space and none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def echo(text: str) -> str:
    """An answer for showing it to its writer again: cut to LONGEST_ECHO, unprintable characters replaced."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text[:LONGEST_ECHO])


def _problem(item: Item, text: str) -> str | None:
    if not text:
        return _missing(item.kind) if item.required else None
    match item.kind:
        case ItemKind.CHOICE:
            return None if text in map(clean, item.options) else _missing(item.kind)
        case ItemKind.NUMBER:
            return None if _NUMBER.fullmatch(text) else gettext("Write a number, such as 12 or 3.5.")
        case ItemKind.TEXT:
            return _problem_of_text(text)


def _problem_of_text(text: str) -> str | None:
    if len(text) > LONGEST_ANSWER:
        said = gettext("Please use at most %(most)s characters. You have written %(count)s.")
        return said % {"most": LONGEST_ANSWER, "count": len(text)}
    if _UNPRINTABLE.search(text):
        return gettext("Your answer contains a character that can't be shown. Please type it again.")
    return None


def _missing(kind: ItemKind) -> str:
    if kind is ItemKind.CHOICE:
        return gettext("Choose one of the answers.")
    return gettext("Please answer this question.")


def _number(text: str) -> Answer:
    return float(text) if "." in text else int(text)
