# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads attributes of the kernel: small files with one value. The simulated twin is a folder of plain files."""

from __future__ import annotations

from pathlib import Path

from happe_power.sources.source import SourceError, UnpluggedError

SYS = Path("/sys")


def number(file: Path) -> int:
    """Read a whole number. Raises UnpluggedError if the attribute is gone or fails, SourceError if it is no number."""
    text = word(file)
    try:
        return int(text)
    except ValueError:
        raise SourceError(f"{file}: {text[:40]!r} is not a whole number") from None


def word(file: Path) -> str:
    """Read a line. Raises UnpluggedError if the attribute is gone or fails, SourceError if only root can read it."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except PermissionError:
        raise SourceError(f"{file}: only root can read it; `sudo chmod a+r {file}` until the next boot") from None
    except OSError as error:
        raise UnpluggedError(f"{file}: {error.strerror}") from None
