# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads the tables beside this file, typed as datapackage.json says. It needs nothing but Python.

from load import load
tables = load()
runs = pandas.DataFrame(tables["runs"])  # if there is pandas
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": lambda text: text == "true"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def load(folder: Path = Path(__file__).parent) -> dict[str, list[dict[str, Any]]]:
    """Each table's rows by its name; a missing value is None."""
    csv.field_size_limit(sys.maxsize)
    resources = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))["resources"]
    return {each["name"]: list(_rows(folder / each["path"], each["schema"]["fields"])) for each in resources}


def _rows(file: Path, fields: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - rows, one after the other
    kinds = {field["name"]: field["type"] for field in fields}
    with file.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            yield {name: _value(text, kinds[name]) for name, text in row.items()}


def _value(text: str, kind: str) -> Any:  # noqa: ANN401 - of any kind
    if text == "":
        return None
    escaped = kind == "string" and text.startswith("'") and text[1:].startswith(FORMULA)
    return TYPES[kind](text[1:] if escaped else text)
