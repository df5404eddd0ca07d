# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads JSON strictly, so that two programs can't read one document differently.

UTF-8 without a byte order mark, no field twice, no NaN, no U+0000, no half of a surrogate pair, and no fraction where
only integers are allowed. The standard library reads it in one pass. orjson is faster, but silently drops repeated
fields and turns large integers into floats; a second pass to find these costs what orjson gains (docs/uploads.md,
Cost).
"""

import json
import math
from typing import Any, NoReturn

from happe_contract.faults import BadDocumentError, Fault, pointer, quoted

Json = dict[str, Any]

MOST_DEPTH = 64
TOO_DEEP = Fault("", f"is nested deeper than {MOST_DEPTH}")


def read(raw: bytes, *, fractions: bool) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return the JSON value in `raw`. Raises BadDocumentError if it is none. With `fractions`, 1.0 becomes an int."""
    reader = _Reader(fractions=fractions)
    try:
        document = reader.decoder.decode(_text(raw))
    except json.JSONDecodeError as error:
        _refuse(f"is no JSON at line {error.lineno} column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}")
    except _RefusedError as error:
        _refuse(str(error))
    except RecursionError:
        raise BadDocumentError([TOO_DEEP]) from None
    except ValueError:  # the interpreter's limit on the digits of an integer
        _refuse("has a number with too many digits")
    if reader.repeated or b"\\u" in raw:
        _check_nodes(document, [])
    return document


def deeper(document: object, most: int = MOST_DEPTH) -> bool:
    """Whether a document has more than `most` levels of arrays and objects."""
    level = [document]
    for _ in range(most):
        level = [child for node in level for child in _children(node)]
    return any(isinstance(node, dict | list) for node in level)


def size(document: object) -> int:
    """The number of values in a document that is not too deep: arrays, objects and what is in them."""
    return 1 + sum(map(size, _children(document)))


class _RefusedError(Exception):
    """JSON or Python would accept this value, but the contract does not. It becomes a fault."""


class _Twice(dict[str, Any]):
    """An object with a repeated field, `name`."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__()
        for name, value in pairs:
            if name in self:
                self.name = name
                return
            self[name] = value


class _Reader:
    """Reads one document; `repeated` says whether an object has a field twice."""

    def __init__(self, *, fractions: bool) -> None:
        self.repeated = False
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_float=_fraction if fractions else _no_fraction,
            parse_constant=_no_constant,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> Json:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.repeated = True
        return _Twice(pairs)


def _text(raw: bytes) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        _refuse("begins with a byte order mark")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        _refuse(f"is not UTF-8 at byte {error.start}")


def _fraction(digits: str) -> int | float:
    value = float(digits)
    if not math.isfinite(value):
        raise _RefusedError("has a number that is too large")
    return int(value) if value.is_integer() else value


def _no_fraction(digits: str) -> NoReturn:
    raise _RefusedError(f"has the number {quoted(digits)}: only integers are taken, without fraction and exponent")


def _no_constant(name: str) -> NoReturn:
    raise _RefusedError(f"has {name}, which is no JSON")


def _refuse(detail: str) -> NoReturn:
    raise BadDocumentError([Fault("", detail)]) from None


def _check_nodes(node: object, path: list[str | int]) -> None:
    """Raise BadDocumentError for a repeated field, and for U+0000 and half surrogate pairs, which databases refuse."""
    if len(path) >= MOST_DEPTH and isinstance(node, dict | list):
        raise BadDocumentError([TOO_DEEP])
    if isinstance(node, _Twice):
        raise BadDocumentError([Fault(pointer(path), f"has the field {quoted(node.name)} twice")])
    if isinstance(node, str):
        _check_text(node, path)
    for name, child in _named_children(node):
        if isinstance(name, str):
            _check_text(name, path)
        if isinstance(child, str | dict | list):
            _check_nodes(child, [*path, name])


def _check_text(text: str, path: list[str | int]) -> None:
    if "\0" in text:
        raise BadDocumentError([Fault(pointer(path), "has the character U+0000")])
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadDocumentError([Fault(pointer(path), "has half of a surrogate pair")]) from None


def _named_children(node: object) -> Any:  # noqa: ANN401 - pairs of name or position and JSON of any type
    if isinstance(node, dict):
        return node.items()
    return enumerate(node) if isinstance(node, list) else ()


def _children(node: object) -> Any:  # noqa: ANN401 - JSON of any type
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()
