# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document: APIFlask's, with every error a problem and every answer that a rule can give.

An operation documents by itself what is its own (`@api.doc(responses=...)`); what follows from its rule, its path and
its method is added here, so that it can't be forgotten.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from happe_study import rules
from happe_study.rules import Who

if TYPE_CHECKING:
    from apiflask import APIFlask

PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `type` is urn:happe:problem:KIND; `detail` says what to do.",
    "properties": {
        "type": {"type": "string", "pattern": "^urn:happe:problem:[a-z-]+$"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"pointer": {"type": "string"}, "detail": {"type": "string"}},
                "required": ["pointer", "detail"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
}
ERROR_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
METHODS = {"get", "put", "post", "patch", "delete", "head"}
FIRST_ERROR = 400

WORDS = {
    "400": "The request can't be read.",
    "401": "No token, or one that is not valid.",
    "403": "The caller's role does not allow it.",
    "404": "There is no such thing, or not for this caller.",
    "413": "Larger than the limit.",
    "415": "Not the media type that is asked for.",
    "422": "It breaks a rule; `errors` says which.",
    "429": "Too many requests; try again later.",
    "503": "The database does not answer; try again soon.",
    "507": "No room; keep it and try again later.",
}


def install(app: APIFlask) -> None:
    """Complete the document whenever it is made."""

    @app.spec_processor
    def _complete(spec: dict[str, Any]) -> dict[str, Any]:
        complete(spec, _rules_by_path(app))
        return spec


def complete(spec: dict[str, Any], rules_by_path: dict[tuple[str, str], rules.Rule]) -> None:
    """Add to each operation its caller's security and the errors that it shares with others."""
    components = spec.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = PROBLEM
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, item in spec.get("paths", {}).items():
        for method, operation in item.items():
            if method in METHODS:
                rule = rules_by_path[method, path]
                operation["security"] = [] if rule.who is Who.ANYBODY else [{"token": []}]
                _add_errors(operation, shared_errors(rule, method, path))


def shared_errors(rule: rules.Rule, method: str, path: str) -> set[str]:
    """Statuses of the errors that follow from who may call, the method and the path."""
    errors = {"429", "503"}
    if rule.who is not Who.ANYBODY:
        errors |= {"401", "403"}
    if "{" in path:
        errors.add("404")
    if method in {"put", "post", "patch"}:
        errors |= {"400", "413", "415", "422", "507"}
    if method == "delete":
        errors |= {"400", "507"}
    return errors


def _add_errors(operation: dict[str, Any], statuses: set[str]) -> None:
    responses = operation.setdefault("responses", {})
    for status in statuses:
        responses.setdefault(status, {"description": WORDS[status]})
    for status, response in responses.items():
        if status.isdigit() and int(status) >= FIRST_ERROR:
            response["content"] = ERROR_CONTENT


def _rules_by_path(app: APIFlask) -> dict[tuple[str, str], rules.Rule]:
    found = {}
    for url in app.url_map.iter_rules():
        path = re.sub(r"<(?:[^:<>]+:)?([^<>]+)>", r"{\1}", url.rule)
        for method in url.methods or ():
            rule = rules.rule_of(app, url.endpoint)
            if rule is not None:
                found[method.lower(), path] = rule
    return found
