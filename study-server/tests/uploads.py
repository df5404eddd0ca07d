# SPDX-License-Identifier: GPL-2.0-or-later
"""The bad uploads of data/bad_uploads.jsonl: the documents of its lines, and their checks.

A line is a change of a good document of data/good_uploads.json: `set` (pointer to value), `fill` (pointer to an item
and how many), `remove` (a pointer), `replace` (two pieces of its text), `keep` (sixteenths of it from the start). Or it
has the document itself: `raw` text, `hex` bytes, `repeat` (a piece, how often, and what closes each). `faults` has all
faults that the checks must find, as pairs of pointer and detail, in any order. After `*`, the detail is the JSON
library's.
"""

import json
from pathlib import Path
from typing import Any

from happe_contract import schemas
from happe_contract.schemas import Kind
from happe_study.study.records.record import run_record
from happe_study.study.traces.manifest import check_header, check_manifest
from records import encode

Json = dict[str, Any]

DATA = Path(__file__).parent / "data"
GOOD: dict[str, Json] = json.loads((DATA / "good_uploads.json").read_text(encoding="utf-8"))
CASES: list[Json] = [json.loads(line) for line in (DATA / "bad_uploads.jsonl").read_text(encoding="utf-8").splitlines()]


def take(kind: Kind, raw: bytes) -> None:
    """Check a document as the server does, as if sent to the good document's address."""
    document, good = schemas.read(kind, raw), GOOD[kind]
    if kind is Kind.RUN_RECORD:
        run_record(document, run=good["run"], client_id=good["id"])
    elif kind is Kind.POWER_TRACE:
        check_header(document, trace=good["id"])
    else:
        check_manifest(document, trace=good["trace"], first_index=0)


def upload(case: Json) -> bytes:
    """The bytes of a case."""
    if "raw" in case:
        return str(case["raw"]).encode()
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" in case:
        piece, times, *closing = case["repeat"]
        repeated: str = piece * times + "".join(closing) * times
        return repeated.encode()
    return _changed(json.loads(json.dumps(GOOD[case["kind"]])), case)


def _changed(document: Json, case: Json) -> bytes:
    filled = {at: [item] * times for at, (item, times) in case.get("fill", {}).items()}
    for at, value in (case.get("set", {}) | filled).items():
        place, name = _place(document, at)
        place[name] = value
    if "remove" in case:
        place, name = _place(document, case["remove"])
        del place[name]
    raw: bytes = encode(document)
    if "keep" in case:
        return raw[: len(raw) * case["keep"] // 16]
    if "replace" in case:
        old, new = (piece.encode() for piece in case["replace"])
        assert old in raw, "the case changes nothing"
        return raw.replace(old, new, 1)
    return raw


def _place(document: Any, at: str) -> tuple[Any, str | int]:  # noqa: ANN401 - JSON
    """The object or array that contains a pointer's last part, and this part."""
    *way, last = (part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:])
    for part in way:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last
