# SPDX-License-Identifier: GPL-2.0-or-later
"""Replacing codes in the run records of a participant whose data is de-identified. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FREE_TEXT = ("notes",)  # fields in which the experimenter may have named people


def renamed(content: bytes, names: Mapping[str, str]) -> bytes:
    """A record's JSON without free text, in which each key of `names` is replaced by its value in all texts."""
    record = json.loads(content)
    for field in FREE_TEXT:
        record.pop(field, None)
    return json.dumps(_renamed(record, names), separators=(",", ":"), ensure_ascii=False).encode()


def _renamed(node: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON is of any type
    if isinstance(node, dict):
        return {_renamed(name, names): _renamed(child, names) for name, child in node.items()}
    if isinstance(node, list):
        return [_renamed(child, names) for child in node]
    if isinstance(node, str):
        for name, other in names.items():
            node = node.replace(name, other)
    return node
