# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads JSON Lines files and appends to them, so that they survive a crash."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from happe_contract.strict_json import Json


def append(path: Path, document: Json) -> None:
    """Remove a line that a crash cut off, append a line, and sync it to the disk. Raises OSError."""
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> list[Json]:
    """The complete lines that are JSON objects; an empty list without the file. Raises OSError."""
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except FileNotFoundError:
        return []
    return [document for line in whole.splitlines() if (document := _object(line)) is not None]


def _object(line: bytes) -> Json | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) else None
