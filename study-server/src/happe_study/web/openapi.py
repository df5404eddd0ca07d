# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document: APIFlask's, completed with problems as errors and with all answers that rules can give.

A view documents only its special answers (`@api.doc(responses=...)`). This module adds the answers that follow from the
view's rule, path and method, so that nobody can forget them.
"""

import copy
import re
from typing import Any

from apiflask import APIFlask

from happe_study.base.codes import CODE_PATTERN
from happe_study.model import rules
from happe_study.model.rules import Who

Json = dict[str, Any]
Routes = dict[tuple[str, str], rules.Rule]  # by method and path

ABOUT = (
    "Times are integer microseconds since 1970, UTC; their names end in `_us`. Errors are RFC 9457 problems. Codes of "
    "runs, participants and devices are eight characters of Crockford's base 32. Bodies are strict JSON: UTF-8, no "
    "field twice, no unknown field. A client may send an upload again under the same id: the server keeps it once."
)

PROBLEM = {
    "type": "object",
    "description": "RFC 9457. `type` is urn:happe:problem:KIND; `detail` is a sentence for people.",
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
        **{name: {"type": "array", "items": {"type": "integer"}} for name in ("missing", "mismatched", "unexpected")},
    },
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
}
ERROR_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
METHODS = {"get", "put", "post", "patch", "delete", "head"}
FIRST_ERROR = 400
APIFLASK_ERRORS = ("HTTPError", "ValidationError")  # APIFlask's components, which no answer uses

WORDS = {
    "400": "The request can't be read.",
    "401": "The token is missing or not valid.",
    "403": "The caller's role does not allow it.",
    "404": "It does not exist, or this caller may not see it.",
    "413": "Larger than the limit.",
    "415": "The body has the wrong media type.",
    "422": "It breaks a rule; `errors` names it.",
    "429": "Too many requests; try again later.",
    "503": "The database does not answer; try again soon.",
    "507": "The server has no room; keep the upload and try again later.",
}

UUID = {"type": "string", "format": "uuid"}
# The parameters of paths that are not just any text.
PARAMETERS: dict[str, Json] = {
    "code": {"type": "string", "pattern": CODE_PATTERN},
    "client_id": UUID,
    "trace": UUID,
    "number": {"type": "integer", "minimum": 0},
}
PARAMETER = re.compile(r"<(?:[^:<>]+:)?([^:<>]+)>")


def install(app: APIFlask) -> None:
    """Complete the document each time APIFlask makes it."""

    @app.spec_processor
    def _complete(spec: Json | str) -> Json | str:
        if isinstance(spec, dict):  # as it always is with SPEC_FORMAT json
            complete(spec, _routes(app))
        return spec


def complete(spec: Json, routes: Routes) -> None:
    """Add the required token and shared errors to each operation."""
    spec["info"]["description"] = ABOUT
    spec["tags"] = [{"name": name} for name in dict.fromkeys(tag["name"] for tag in spec.get("tags", ()))]
    components = spec.setdefault("components", {})
    components.setdefault("schemas", {})["Problem"] = copy.deepcopy(PROBLEM)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, item in spec.get("paths", {}).items():
        for method, operation in item.items():
            if method in METHODS:
                rule = routes[method, path]
                operation["security"] = [] if rule.who is Who.ANYBODY else [{"token": []}]
                _add_errors(operation, _shared_errors(rule, method, path))
                for parameter in operation.get("parameters", ()):
                    if parameter["in"] == "path":
                        parameter["schema"] = PARAMETERS.get(parameter["name"], parameter["schema"])
                if "requestBody" in operation:
                    operation["requestBody"]["required"] = True
    for unused in APIFLASK_ERRORS:
        components["schemas"].pop(unused, None)


def _shared_errors(rule: rules.Rule, method: str, path: str) -> set[str]:
    """The statuses of errors that follow from the access rule, the method and the path."""
    errors = {"401", "429", "503"}  # every route refuses an invalid token
    if rule.who is not Who.ANYBODY:
        errors.add("403")
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


def _routes(app: APIFlask) -> Routes:
    return {
        (method.lower(), PARAMETER.sub(r"{\1}", url.rule)): rule
        for url in app.url_map.iter_rules()
        if url.rule.startswith("/api/") and (rule := rules.rule_of(app, url.endpoint)) is not None
        for method in url.methods or ()
    }
