# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of source: finds this machine's instruments, and makes a source from a line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.door import KINDS
from happe_power.sources.spec import Found, Kind, Option, SpecError, TableError, parse, text_of_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from happe_power.sources.source import Source

__all__ = [
    "KINDS",
    "Found",
    "Kind",
    "Option",
    "SpecError",
    "TableError",
    "found",
    "help_text",
    "make",
    "named",
    "notes_of",
]


def make(text: str, clock: Clock | None = None) -> Source:
    """Make the source that `text` names, e.g. comedi:/dev/comedi0,channels=0+1,rate=10000. It is not started.

    Raises SpecError if the text is wrong, SourceError if the instrument is missing or can't do this.
    """
    kind, spec = parse(text, KINDS)
    source = kind.make(spec, clock or SystemClock())
    source.channels = spec.stated(source.channels)
    return source


def named(said: str | Mapping[str, Any]) -> str:
    """Return a configuration's text or table for a source as a text for `make`. Raises SpecError, TableError."""
    text = said if isinstance(said, str) else text_of_table(said, KINDS)
    parse(text, KINDS)
    return text


def found() -> list[Found]:
    """The instruments of this machine, kind by kind; for what is missing, the command that installs it."""
    return [one for name in KINDS for one in KINDS.found(name)] + KINDS.passed_over()


def notes_of(source: Source) -> tuple[str, ...]:
    """Lines that a person should read before trusting this source. Their number may grow during a recording."""
    notes: tuple[str, ...] = getattr(source, "notes", ())
    return notes


def help_text() -> str:
    """The values that `--source` takes, kind by kind, without kinds that cannot be loaded (`found` has these)."""
    return "\n\n".join(kind.help() for kind in KINDS.loaded())
