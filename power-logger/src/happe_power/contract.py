# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the documents of a power trace against profiles/schema. Their meaning: docs/uploads.md.

Where the schemas are: `happe_power/schema` in an installed wheel (power-logger/setup.py puts them there),
profiles/schema in the source tree; so with profiles/machines.
"""

from __future__ import annotations

import json
from enum import StrEnum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema_rs import Draft202012Validator, Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = dict[str, Any]

MOST_FAULTS = 20


class Kind(StrEnum):
    """A kind of document, by its schema's name."""

    HEADER = "power-trace"
    MANIFEST = "power-trace-manifest"
    MEASURES = "power-measures"
    RUN_RECORD = "run-record"


class ContractError(ValueError):
    """A document does not have its schema's shape; `faults` has a JSON pointer and what is wrong, a line each."""

    def __init__(self, kind: Kind, faults: Sequence[str]) -> None:
        """Say which document it was to be, and what is wrong with it."""
        super().__init__(f"not a {kind} document: {'; '.join(faults)}")
        self.faults = tuple(faults)


def read(kind: Kind, raw: bytes) -> Json:
    """The document in `raw`, which has the shape of its schema; else ContractError."""
    try:
        document: Json = json.loads(raw)
    except ValueError as error:
        raise ContractError(kind, [f"it is no JSON: {error}"]) from None
    check(kind, document)
    return document


def check(kind: Kind, document: object) -> None:
    """Raise ContractError if a document does not have its schema's shape."""
    validator = _validator(kind)
    if validator.is_valid(document):
        return
    found = islice(validator.iter_errors(document), MOST_FAULTS)
    raise ContractError(kind, [f"{_pointer(error.instance_path)}: {error.message}" for error in found])


def folder(name: str) -> Path:
    """Where a folder of profiles/ is: in this package if it is installed, else in the source tree."""
    installed = Path(__file__).parent / name
    return installed if installed.is_dir() else Path(__file__).parents[3] / "profiles" / name


@cache
def _validator(kind: Kind) -> Draft202012Validator:
    files = folder("schema").glob("*.schema.json")
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in files}
    known = Registry([(schema["$id"], schema) for schema in schemas.values()])
    return Draft202012Validator(schemas[f"{kind}.schema.json"], registry=known, offline=True)


def _pointer(path: Sequence[str | int]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path) or "/"
