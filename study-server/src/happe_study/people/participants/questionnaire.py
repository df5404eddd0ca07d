# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers to a questionnaire, as they were typed and as they are kept. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from happe_study.base.languages import gettext
from happe_study.design.protocol.reading import Item, ItemKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST_ANSWER = 200  # characters
LONGEST_ECHO = 4000  # of an answer that is too long, for its writer to shorten

# C0, DEL, C1, turns of the direction of text, no characters, halves of characters.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?\d{1,12}(\.\d{1,6})?")

Answer = str | int | float


@dataclass(frozen=True)
class Answers:
    """The answers, by the item's key; and what is wrong with the rest, in words for the participant."""

    kept: dict[str, Answer] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)


def read(items: Iterable[Item], form: Mapping[str, str]) -> Answers:
    """The answers in a form. Fields that are no item's are skipped; an optional item may be left empty."""
    found = Answers()
    for item in items:
        text = clean(form.get(item.key, ""))
        if problem := _problem(item, text):
            found.wrong[item.key] = problem
        elif text:
            found.kept[item.key] = _number(text) if item.kind is ItemKind.NUMBER else text
    return found


def clean(text: str) -> str:
    """A line of text: composed (NFC), its white space single spaces, none at the ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def echo(text: str) -> str:
    """An answer to show again to its writer."""
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
        return gettext("There is a character in it that can't be shown. Please type your answer again.")
    return None


def _missing(kind: ItemKind) -> str:
    if kind is ItemKind.CHOICE:
        return gettext("Choose one of the answers.")
    return gettext("Please answer this question.")


def _number(text: str) -> Answer:
    return float(text) if "." in text else int(text)
