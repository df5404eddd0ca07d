# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of single fields: pydantic finds them, this module says them in plain words for authors of protocols."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from typing import Any, get_args

from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from happe_contract.toml_lines import Path
from happe_study.study.protocol.sections import Protocol

LONGEST_EXCERPT = 60
_KEY_OF = "[key]"  # pydantic's mark for the key, not the value, of a table with free keys

_WORDS = {
    "missing": "is missing",
    "string_type": 'must be text: "..."',
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list: [...]",
    "dict_type": "must be a table",
    "dataclass_type": "must be a table",
    "greater_than_equal": "is {value}, must be at least {ge}",
    "less_than_equal": "is {value}, must be at most {le}",
    "too_short": "must not be empty",
    "too_long": "has too many entries, may have at most {max_length}",
    "finite_number": "must be a number that is not infinite",
    "enum": "is {value}, must be {expected}",
}


def excerpt(value: object) -> str:
    """A value for a message: quoted, ASCII only, at most a line long."""
    text = ascii(value)
    return text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 3] + "..."


def of_fields(errors: Iterable[ErrorDetails]) -> Iterator[tuple[Path, str]]:
    """The path of each wrong field, and its error in plain words."""
    every = list(errors)
    for error in every:
        if not (error["type"] == "too_short" and _has_wrong_items(error, every)):
            yield _of_field(error)


def _has_wrong_items(error: ErrorDetails, every: list[ErrorDetails]) -> bool:
    """Whether a list is short only because pydantic left out the items that are wrong."""
    path = error["loc"]
    return any(other["loc"][: len(path)] == path and len(other["loc"]) > len(path) for other in every)


def _of_field(error: ErrorDetails) -> tuple[Path, str]:
    path = tuple(part for part in error["loc"] if part != _KEY_OF)
    if error["type"] == "unexpected_keyword_argument":
        return path, _unknown(path)
    template = _WORDS.get(error["type"])
    if template is None:
        return path, error["msg"]
    return path, template.format(**error.get("ctx", {}), value=excerpt(error["input"]))


def _unknown(path: Path) -> str:
    """The message for an unknown key, with the most similar known key of its table."""
    *table, key = path
    near = get_close_matches(str(key), names(tuple(table)), n=1)
    return f"unknown; did you mean {near[0]}?" if near else "unknown"


def names(table: Path) -> list[str]:
    """The names that the file may use in a table of the protocol."""
    section: Any = Protocol
    for part in table:
        if isinstance(part, str):
            section = dict(_named(section)).get(part)
    return [name for name, _ in _named(section)] if section is not None else []


def _named(section: type) -> Iterator[tuple[str, type | None]]:
    """Each name in a section, with its own section if it is a table; None if it is a value."""
    infos: Mapping[str, FieldInfo] = section.__pydantic_fields__  # type: ignore[attr-defined]  # a pydantic dataclass
    for field in fields(section):
        info = infos[field.name]
        yield info.alias or field.name, _section_in(info.annotation)


def _section_in(annotation: Any) -> type | None:  # noqa: ANN401 - annotations are of any type
    """The section in an annotation `Section`, `Section | None` or `tuple[Section, ...]`; None if there is none."""
    if isinstance(annotation, type) and is_dataclass(annotation):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _section_in(inner))), None)
