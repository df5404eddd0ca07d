# SPDX-License-Identifier: GPL-2.0-or-later
"""The D-Bus interface and the HTTP interface as Markdown."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from happe_docs.markdown import cell, code_cell, escaped, table
from happe_docs.schemas import fields, type_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Json = dict[str, Any]
ACCESS = {"read": "read", "write": "write", "readwrite": "read and write"}


def dbus(file: Path) -> str:
    """The members of an introspection document."""
    parts = []
    for interface in ET.parse(file).getroot().iter("interface"):  # noqa: S314 - a file of ours
        properties = [
            (code_cell(each.get("name", "")), code_cell(each.get("type", "")), ACCESS[each.get("access", "")])
            for each in interface.iter("property")
        ]
        parts += [
            f"## `{interface.get('name')}`",
            "### Methods",
            table(("method", "in", "out"), map(_call, interface.iter("method"))),
            "### Signals",
            table(("signal", "carries"), (_call(each)[::2] for each in interface.iter("signal"))),
            "### Properties",
            table(("property", "type", "access"), properties),
        ]
    return "\n\n".join(parts) + "\n"


def _call(member: ET.Element) -> tuple[str, str, str]:
    taken = [each for each in member.iter("arg") if each.get("direction") == "in"]
    given = [each for each in member.iter("arg") if each.get("direction", "out") == "out"]
    return code_cell(member.get("name", "")), _arguments(taken), _arguments(given)


def _arguments(arguments: Iterable[ET.Element]) -> str:
    return ", ".join(code_cell(f"{each.get('type')} {each.get('name')}") for each in arguments)


def http(document: Json) -> str:
    """The operations of an OpenAPI document, by their tags, then its schemas."""
    operations = [
        (operation["tags"][0], method, path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]
    parts = [escaped(document["info"]["description"])]
    for tag, those in groupby(sorted(operations, key=lambda each: each[0]), key=lambda each: each[0]):
        parts.append(f"## {tag}")
        parts += [_operation(method, path, operation) for _tag, method, path, operation in those]
    parts.append("## Schemas")
    for name, schema in document["components"]["schemas"].items():
        parts += [f"### `{name}`", escaped(schema.get("description", "")), fields(schema)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _operation(method: str, path: str, operation: Json) -> str:
    parameters = [
        (code_cell(each["name"]), each["in"], cell(type_of(each["schema"])), cell(each.get("description", "")))
        for each in operation.get("parameters", ())
    ]
    answers = [(status, cell(answer["description"])) for status, answer in sorted(operation["responses"].items())]
    parts = [
        f"### `{method.upper()} {path}`",
        escaped(operation["summary"]),
        escaped(operation.get("description", "")),
        table(("parameter", "where", "type", "meaning"), parameters),
        _body(operation.get("requestBody", {})),
        table(("status", "answer"), answers),
    ]
    return "\n\n".join(part for part in parts if part)


def _body(body: Json) -> str:
    kinds = [f"`{kind}`: {cell(type_of(each.get('schema', {})))}" for kind, each in body.get("content", {}).items()]
    return f"Takes {'; '.join(kinds)}." if kinds else ""
