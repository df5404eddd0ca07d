# SPDX-License-Identifier: GPL-2.0-or-later
"""The kinds of texts in a protocol: keys, lines, paragraphs, arguments, days. docs/protocol.md explains them."""

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator, StrictStr
from pydantic_core import PydanticCustomError

LONGEST_SLUG = 40
LONGEST_LINE = 200
LONGEST_VERSION = 40
LONGEST_TEXT = 20_000
LONGEST_ARGUMENT = 4096

# C0, DEL, C1; Unicode's line separators; marks of text direction; noncharacters.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")
_LAYOUT = str.maketrans("", "", "\n\t")
_SLUG = re.compile(r"[a-z][a-z0-9_-]*")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")


def _refuse(message: str) -> PydanticCustomError:
    return PydanticCustomError("protocol", message)


def _at_most(text: str, longest: int) -> None:
    if len(text) > longest:
        raise _refuse(f"has {len(text)} characters, may have at most {longest}")


def _slug(text: str) -> str:
    _at_most(text, LONGEST_SLUG)
    if not _SLUG.fullmatch(text):
        raise _refuse("must be made of a-z, 0-9, - and _, and begin with a letter")
    return text


def _line(text: str) -> str:
    _at_most(text, LONGEST_LINE)
    return _printable(text, text)


def _text(text: str) -> str:
    _at_most(text, LONGEST_TEXT)
    return _printable(text, text.translate(_LAYOUT))


def _version(text: str) -> str:
    _at_most(text, LONGEST_VERSION)
    return _line(text)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise _refuse('must be a day, such as "2031-12-31"') from None


def _argument(text: str) -> str:
    _at_most(text, LONGEST_ARGUMENT)
    if _CONTROL.search(text):
        raise _refuse("must not contain control characters")
    return text


def _printable(text: str, checked: str) -> str:
    if not text.strip():
        raise _refuse("must not be empty")
    if _CONTROL.search(checked):
        raise _refuse("must not contain control characters")
    return text


def paragraphs(text: str) -> tuple[str, ...]:
    """The paragraphs of a text, each as one line. Blank lines separate them."""
    return tuple(" ".join(part.split()) for part in _PARAGRAPHS.split(text) if part.strip())


Slug = Annotated[StrictStr, AfterValidator(_slug)]
Line = Annotated[StrictStr, AfterValidator(_line)]
Text = Annotated[StrictStr, AfterValidator(_text)]
Argument = Annotated[StrictStr, AfterValidator(_argument)]
Version = Annotated[StrictStr, AfterValidator(_version)]
Day = Annotated[StrictStr, AfterValidator(_day)]
