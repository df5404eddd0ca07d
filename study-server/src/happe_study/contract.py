# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks uploaded documents against profiles/schema. What passes is a dict of that shape; see docs/uploads.md.

Where the schemas are: `happe_study/schema` in an installed wheel (study-server/setup.py puts them there),
profiles/schema in the source tree.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft202012Validator, Registry, ValidationError

from happe_study import strict_json
from happe_study.faults import BadDocumentError, Fault, pointer, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_study.strict_json import Json

MIB = 1024 * 1024
MOST_VALUES = 1_000_000  # counted as commas; four hours on 32 CPUs have 0.7 million
MOST_LISTED = 4000  # commas; of a document with more only one fault is told, as finding them all takes memory
MASK = "it"  # the validator's own messages are not used, so they need not hold the input


class Kind(StrEnum):
    """A kind of uploaded document, by its schema's name."""

    RUN_RECORD = "run-record"
    POWER_TRACE = "power-trace"
    POWER_TRACE_MANIFEST = "power-trace-manifest"


MOST_BYTES = {Kind.RUN_RECORD: 8 * MIB, Kind.POWER_TRACE: 64 * 1024, Kind.POWER_TRACE_MANIFEST: 8 * MIB}
WITH_FRACTIONS = {Kind.POWER_TRACE}


class Contract:
    """The schemas of a folder, compiled."""

    def __init__(self, folder: Path) -> None:
        """Read all *.schema.json of `folder`. OSError, ValueError or KeyError if these are not the schemas."""
        schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.schema.json")}
        known = Registry([(schema["$id"], schema) for schema in schemas.values()])
        self._validators = {
            kind: Draft202012Validator(schemas[f"{kind}.schema.json"], registry=known, offline=True, mask=MASK)
            for kind in Kind
        }

    def check(self, kind: Kind, raw: bytes) -> Json:
        """The document in `raw`, which has the shape of its schema; else BadDocumentError."""
        if len(raw) > MOST_BYTES[kind]:
            raise BadDocumentError([Fault("", f"is longer than {MOST_BYTES[kind]} bytes")])
        if raw.count(b",") >= MOST_VALUES:
            raise BadDocumentError([Fault("", f"has more than {MOST_VALUES} values")])
        document: Json = strict_json.read(raw, fractions=kind in WITH_FRACTIONS)
        validator = self._validators[kind]
        if validator.is_valid(document):
            return document
        if strict_json.deeper(document):
            raise BadDocumentError([strict_json.TOO_DEEP])
        raise BadDocumentError(_faults(validator, document, all_of_them=raw.count(b",") <= MOST_LISTED))


def check(kind: Kind, raw: bytes) -> Json:
    """Check against the schemas that came with this package; see Contract.check."""
    return own_contract().check(kind, raw)


@cache
def own_contract() -> Contract:
    """The contract of the schemas that came with this package."""
    return Contract(schema_folder())


def schema_folder() -> Path:
    """Where this package's schemas are: beside it if it is installed, else in the source tree."""
    installed = Path(__file__).parent / "schema"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "profiles/schema"


def _faults(validator: Draft202012Validator, document: object, *, all_of_them: bool) -> Iterator[Fault]:
    """The faults of a document that does not fit. `iter_errors` finds all before it tells the first, `validate` one."""
    if all_of_them:
        for error in validator.iter_errors(document):
            yield from _told(error)
        return
    try:
        validator.validate(document)
    except ValidationError as error:
        yield from islice(_told(error), 1)


def _told(error: ValidationError) -> Iterator[Fault]:
    """The faults that an error stands for. Of a value that may be of two types, what is wrong for the type it has."""
    if error.kind.name == "anyOf":
        for branch in error.kind.as_dict()["context"]:
            if branch[0].kind.name != "type" or branch[0].instance_path != error.instance_path:
                for nested in branch:
                    yield from _told(nested)
                return
    yield Fault(pointer(error.instance_path), _detail(error))


# A keyword that failed, in our words. What is in braces is from the schema, but for the names of fields.
WORDS = {
    "minimum": "must be at least {limit}",
    "maximum": "must be at most {limit}",
    "exclusiveMinimum": "must be more than {limit}",
    "minLength": "must have at least {limit} characters",
    "maxLength": "must have at most {limit} characters",
    "minItems": "must have at least {limit} items",
    "maxItems": "must have at most {limit} items",
    "minProperties": "must have at least {limit} fields",
    "maxProperties": "must have at most {limit} fields",
    "pattern": "does not match {pattern}",
    "uniqueItems": "has an item twice",
    "type": "must be {types}",
    "required": "lacks {property}",
    "additionalProperties": "has an unknown field {unexpected}",
    "const": "must be {expected_value}",
    "enum": "must be one of {options}",
}
ARTICLES = {"array": "an array", "integer": "an integer", "object": "an object", "null": "null"}


def _detail(error: ValidationError) -> str:
    """What is wrong, from the keyword that failed and the schema's side of it. Only field names are repeated."""
    keyword, facts = error.kind.name, error.kind.as_dict()
    if keyword == "anyOf":
        return ", or ".join(_detail(branch[0]) for branch in facts["context"])
    if keyword not in WORDS:
        return f"breaks the schema's {keyword}"
    return WORDS[keyword].format(**{name: _words(name, fact) for name, fact in facts.items()})


def _words(name: str, fact: Any) -> str:  # noqa: ANN401 - of any type, by name
    match name:
        case "types":
            return " or ".join(ARTICLES.get(each, f"a {each}") for each in fact)
        case "property":
            return quoted(fact)
        case "unexpected":
            return quoted(min(fact))
        case "options":
            return ", ".join(map(json.dumps, fact))
        case "expected_value":
            return json.dumps(fact)
    return str(fact)
