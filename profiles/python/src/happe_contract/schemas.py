# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks JSON documents against profiles/schema. A checked document is a dict of that shape; see docs/uploads.md.

`schema` and `t61-power.csv` beside this file are those of profiles/: links in the source tree, copies in a wheel.
"""

import json
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry, ValidationError

from happe_contract import strict_json
from happe_contract.faults import BadDocumentError, Fault, pointer, quoted, refuse_if_any
from happe_contract.strict_json import Json

SCHEMAS = Path(__file__).parent / "schema"
T61_POWER = Path(__file__).parent / "t61-power.csv"

MIB = 1024 * 1024
MOST_VALUES = 1_000_000  # counted as commas; four hours on 32 CPUs have 0.7 million
MOST_LISTED = 4000  # commas; a document with more gets only one fault, because a search for all takes memory
MASK = "it"  # hides the input in the validator's own messages, which are not used


class Kind(StrEnum):
    """A kind of document, by its schema's name."""

    RUN_RECORD = "run-record"
    POWER_TRACE = "power-trace"
    POWER_TRACE_MANIFEST = "power-trace-manifest"
    POWER_MEASURES = "power-measures"
    POWER_MODEL = "power-model"


UPLOADS = (Kind.RUN_RECORD, Kind.POWER_TRACE, Kind.POWER_TRACE_MANIFEST)  # what devices send
MOST_BYTES = {
    Kind.RUN_RECORD: 8 * MIB,
    Kind.POWER_TRACE: 64 * 1024,
    Kind.POWER_TRACE_MANIFEST: 8 * MIB,
    Kind.POWER_MEASURES: 32 * MIB,
    Kind.POWER_MODEL: MIB,
}
WITH_FRACTIONS = {Kind.POWER_TRACE, Kind.POWER_MEASURES, Kind.POWER_MODEL}


def read(kind: Kind, raw: bytes) -> Json:
    """Return the document in `raw`, which fits its schema. Raises BadDocumentError with 1 to 20 faults."""
    if len(raw) > MOST_BYTES[kind]:
        raise BadDocumentError([Fault("", f"is longer than {MOST_BYTES[kind]} bytes")])
    commas = raw.count(b",")
    if kind in UPLOADS and commas >= MOST_VALUES:
        raise BadDocumentError([Fault("", f"has more than {MOST_VALUES} values")])
    document: Json = strict_json.read(raw, fractions=kind in WITH_FRACTIONS)
    validator = _validator(kind)
    if validator.is_valid(document):
        return document
    if strict_json.deeper(document):
        raise BadDocumentError([strict_json.TOO_DEEP])
    raise BadDocumentError(_faults(validator, document, all_of_them=commas <= MOST_LISTED))


def check(kind: Kind, document: object) -> None:
    """Check a document that this program made. Raises BadDocumentError if it does not fit its schema."""
    refuse_if_any(_faults(_validator(kind), document, all_of_them=True))


def faults(schema: Json, document: object) -> list[Fault]:
    """The faults of a document by a schema outside profiles/. Raises ValueError if that is no JSON Schema."""
    try:
        validator = Draft202012Validator(schema, offline=True, mask=MASK)
    except ValidationError as error:
        raise ValueError(f"no JSON Schema: {error.message}") from None
    return list(_faults(validator, document, all_of_them=True))


def faults_of_part(kind: Kind, part: str, document: object) -> list[Fault]:
    """The faults of a document by one of the definitions in a kind's schema."""
    return list(_faults(_validator(kind, part), document, all_of_them=True))


@cache
def _validator(kind: Kind, part: str = "") -> Draft202012Validator:
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.schema.json")}
    known = Registry([(schema["$id"], schema) for schema in schemas.values()])
    schema = schemas[f"{kind}.schema.json"]
    if part:
        schema = {"$ref": f"{schema['$id']}#/$defs/{part}"}
    return Draft202012Validator(schema, registry=known, offline=True, mask=MASK)


def _faults(validator: Draft202012Validator, document: object, *, all_of_them: bool) -> Iterator[Fault]:
    """Yield the faults of a document. `iter_errors` finds all before it yields one; `validate` finds only one."""
    if all_of_them:
        for error in validator.iter_errors(document):
            yield from _told(error)
        return
    try:
        validator.validate(document)
    except ValidationError as error:
        yield from islice(_told(error), 1)


def _told(error: ValidationError) -> Iterator[Fault]:
    """Yield the faults behind an error. For a value of one of two types, the faults are by the type that it has."""
    if error.kind.name == "anyOf":
        for branch in error.kind.as_dict()["context"]:
            if branch[0].kind.name != "type" or branch[0].instance_path != error.instance_path:
                for nested in branch:
                    yield from _told(nested)
                return
    yield Fault(pointer(error.instance_path), _detail(error))


# Our words for each failed keyword. Words in braces are from the schema, except for the names of fields.
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
    """Describe a fault by the failed keyword and its value in the schema. Only field names are repeated."""
    keyword, facts = error.kind.name, error.kind.as_dict()
    if keyword in ("anyOf", "oneOf"):
        failed = [branch[0] for branch in facts["context"] if branch]
        return ", or ".join(map(_detail, failed)) or "has fields that exclude each other"
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
