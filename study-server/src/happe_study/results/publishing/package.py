# SPDX-License-Identifier: GPL-2.0-or-later
"""An export as a Frictionless data package (specs.frictionlessdata.io): tables, their schema, a codebook, loaders.

The schema comes from the export's table `dictionary`, so a package describes its tables at their export.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from dataclasses import dataclass
from importlib.resources import files
from io import BufferedIOBase
from typing import TYPE_CHECKING, Any

from happe_study.results.publishing import disclosure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from happe_study.results.publishing.disclosure import Disclosure

ANSWER = "answer_"
TYPES = {"text": "string", "integer": "integer", "number": "number", "boolean": "boolean"}
KEYS = {"runs": "run", "participants": "participant"}  # primary keys; columns of that name elsewhere refer to them
LOADERS = ("load.py", "load.R")
Row = dict[str, str]


class UnfitError(Exception):
    """An export is unfit for publishing. `lines` say why."""

    def __init__(self, *lines: str) -> None:
        """There must be at least one line."""
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True)
class Wish:
    """A request. `k`: how many people must share each combination of answers; `without`: questions to leave out."""

    k: int
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Package:
    """The package's files by name, and its disclosure. `copied`: large tables, which the caller copies from there."""

    study: str
    files: Mapping[str, bytes]
    copied: Mapping[str, Path]
    disclosure: Disclosure


def package(export: Path, wish: Wish) -> Package:
    """Make a package from a folder that `happe-server study export` wrote as CSV. Raises UnfitError."""
    found = {file.stem: file for file in sorted(export.glob("*.csv"))}
    study, dictionary = _dictionary(export, found)
    tables = {name.removeprefix(f"{study}-"): file for name, file in found.items() if name.startswith(f"{study}-")}
    described = {table: [row for row in dictionary if row["table"] == table] for table in tables}
    participants = tables.pop("participants", None)
    if participants is None:
        raise UnfitError(f"{export}: has no table of participants; `happe-server study export` writes it")
    answers, checked = _without(participants, wish)
    described["participants"] = [row for row in described["participants"] if row["column"] not in _columns(wish)]
    contents = {f"{study}-participants.csv": answers}
    resources = [
        _resource(study, table, rows, io.BytesIO(answers) if table == "participants" else tables[table].open("rb"))
        for table, rows in described.items()
    ]
    document = {
        "profile": "tabular-data-package",
        "name": study,
        "title": f"The user study {study} of HAPPE",
        "resources": resources,
    }
    loaders = {name: files(__package__).joinpath("loaders", name).read_bytes() for name in LOADERS}
    written = {
        "datapackage.json": (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode(),
        "codebook.md": _codebook(study, described, checked).encode(),
        **contents,
        **loaders,
    }
    return Package(study, written, {file.name: file for file in tables.values()}, checked)


def _dictionary(export: Path, found: Mapping[str, Path]) -> tuple[str, list[Row]]:
    name = next((name for name in found if name.endswith("-dictionary")), None)
    if name is None:
        raise UnfitError(f"{export}: has no table `dictionary` as CSV; export the study again with --format csv")
    rows = _rows(found[name])[1]
    wanted = {"table", "column", "type", "unit", "about"}
    if not rows or not wanted <= set(rows[0]) or not {row["type"] for row in rows} <= set(TYPES):
        raise UnfitError(f"{found[name]}: is not the dictionary of an export")
    return name.removesuffix("-dictionary"), rows


def _rows(file: Path) -> tuple[list[str], list[Row]]:
    csv.field_size_limit(sys.maxsize)
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened, strict=True, restval="")
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnfitError(f"{file}: cannot be read: {error}") from None
    if any(None in row for row in rows):
        raise UnfitError(f"{file}: a row has more cells than there are columns")
    return list(reader.fieldnames or ()), rows


def _columns(wish: Wish) -> set[str]:
    return {f"{ANSWER}{question}" for question in wish.without}


def _without(file: Path, wish: Wish) -> tuple[bytes, Disclosure]:
    """The table of participants as CSV, without the questions to leave out. UnfitError: answers identify somebody."""
    columns, rows = _rows(file)
    questions = [column.removeprefix(ANSWER) for column in columns if column.startswith(ANSWER)]
    if unknown := sorted(set(wish.without) - set(questions)):
        raise UnfitError(f"{unknown[0]}: is not a question; the questions are {', '.join(questions) or 'none'}")
    kept = [question for question in questions if question not in wish.without]
    people = [{question: row[f"{ANSWER}{question}"] for question in kept} for row in rows]
    found = disclosure.of_answers(people, kept, wish.k)
    if found.k is not None and found.k < wish.k:
        raise UnfitError(
            f"{file}: {found.few} of {found.participants} participants could be recognised by their answers: fewer "
            f"than {wish.k} share all of them (the rarest combination: {found.k})",
            *(f"  without {question}: {'no answers' if k is None else k}" for question, k in found.without.items()),
            "Leave questions out (--without QUESTION), or accept fewer people (--k NUMBER).",
        )
    out = io.StringIO()
    writer = csv.DictWriter(out, [column for column in columns if column not in _columns(wish)], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode(), found


def _resource(study: str, table: str, rows: Sequence[Row], content: BufferedIOBase) -> dict[str, Any]:
    with content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        size = content.seek(0, io.SEEK_END)
        content.seek(0)
        header = next(csv.reader([content.readline().decode()]), [])
    by_name = {row["column"]: row for row in rows}
    if missing := [column for column in header if column not in by_name]:
        raise UnfitError(f"{study}-{table}.csv: column {missing[0]}: the dictionary does not describe it")
    schema: dict[str, Any] = {"fields": [_field(by_name[column]) for column in header], "missingValues": [""]}
    if table in KEYS:
        schema["primaryKey"] = [KEYS[table]]
    pointing = [
        {"fields": [key], "reference": {"resource": other, "fields": [key]}}
        for other, key in KEYS.items()
        if key in header and other != table
    ]
    return {
        "name": table,
        "path": f"{study}-{table}.csv",
        "profile": "tabular-data-resource",
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": "utf-8",
        "bytes": size,
        "hash": f"sha256:{digest}",
        "schema": schema | ({"foreignKeys": pointing} if pointing else {}),
    }


def _field(row: Row) -> dict[str, Any]:
    field: dict[str, Any] = {"name": row["column"], "type": TYPES[row["type"]], "description": _about(row)}
    if row["type"] == "boolean":
        field |= {"trueValues": ["true"], "falseValues": ["false"]}
    return field


def _about(row: Row) -> str:
    return f"{row['about']} In {row['unit']}." if row["unit"] else row["about"]


def _codebook(study: str, described: Mapping[str, Sequence[Row]], checked: Disclosure) -> str:
    return "\n".join(_codebook_lines(study, described, checked)) + "\n"


def _codebook_lines(study: str, described: Mapping[str, Sequence[Row]], checked: Disclosure) -> Iterator[str]:
    yield f"# Codebook of {study}"
    yield ""
    yield "An empty cell is a missing value. A text that a spreadsheet would read as a formula has an apostrophe"
    yield "before it; `load.py` and `load.R` remove the apostrophe."
    yield ""
    shared = "No participant has answers here." if checked.k is None else f"{checked.k} people share each combination."
    yield f"Answers of {checked.participants} participants: {shared}"
    for table, rows in described.items():
        yield from ("", f"## {table}", "", "| column | type | about |", "| --- | --- | --- |")
        for row in rows:
            about = _about(row).replace("|", "\\|").replace("\n", " ")
            yield f"| `{row['column']}` | {row['type']} | {about} |"
