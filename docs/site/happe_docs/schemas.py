# SPDX-License-Identifier: GPL-2.0-or-later
"""Schemas as Markdown: each field with its type, its limits and its meaning. JSON Schema, and OpenAPI's of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from happe_docs.markdown import cell, code_cell, escaped, table

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

HEAD = ("field", "type", "needed", "meaning")
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "matches `{}`",
    "format": "{}",
}
DEEPEST = 4


def document(schema: Json) -> str:
    """A page of a schema of profiles/schema, without its title."""
    parts = [escaped(schema.get("description", "")), f"`{schema['$id'].rpartition('/')[2]}`", fields(schema)]
    for name, definition in schema.get("$defs", {}).items():
        parts += [f"### `{name}`", escaped(definition.get("description", "")), _whole(definition), fields(definition)]
    return "\n\n".join(part for part in parts if part) + "\n"


def fields(schema: Json) -> str:
    """The table of an object's fields; nothing if it has none."""
    return table(HEAD, _rows(schema, "", 0))


def _whole(schema: Json) -> str:
    return "" if "properties" in schema else f"{cell(type_of(schema))}{_after(schema)}."


def _after(schema: Json) -> str:
    limits = limits_of(schema)
    return f", {limits}" if limits else ""


def _rows(schema: Json, prefix: str, depth: int) -> Iterator[tuple[str, ...]]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        need = "required" if name in required else ""
        limits = limits_of(field)
        words = ". ".join(word.rstrip(".") for word in (field.get("description", ""), limits) if word)
        yield code_cell(path), cell(type_of(field)), need, cell(words)
        if depth < DEEPEST:
            yield from _rows(field, f"{path}.", depth + 1)
            yield from _rows(field.get("items", {}), f"{path}[].", depth + 1)


def type_of(schema: Json) -> str:
    """What a value is, in a few words."""
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2].removesuffix('.schema.json')}`"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(each)}`" for each in schema["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(map(type_of, schema[choice])))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def limits_of(schema: Json) -> str:
    """What bounds a value."""
    return ", ".join(words.format(schema[name]) for name, words in LIMITS.items() if name in schema)
