# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of source: what it is, what this machine has of it, and the making of one from a line of text."""

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
    """The source that `text` names, e.g. comedi:/dev/comedi0,channels=0+1,rate=10000; not started.

    SpecError if the text is wrong, SourceError if the instrument is not there or can't do it.
    """
    kind, spec = parse(text, KINDS)
    source = kind.make(spec, clock or SystemClock())
    source.channels = spec.stated(source.channels)
    return source


def named(said: str | Mapping[str, Any]) -> str:
    """A source that a configuration names by a text or a table, as a text that `make` takes. SpecError, TableError."""
    text = said if isinstance(said, str) else text_of_table(said, KINDS)
    parse(text, KINDS)
    return text


def found() -> list[Found]:
    """What this machine has, kind by kind, and what it lacks, with the command that gets it."""
    return [one for name in KINDS for one in KINDS.found(name)] + KINDS.passed_over()


def notes_of(source: Source) -> tuple[str, ...]:
    """What a person should know before trusting this source; lines, of which there may be more after a while."""
    notes: tuple[str, ...] = getattr(source, "notes", ())
    return notes


def help_text() -> str:
    """What `--source` takes, kind by kind; without kinds that cannot be loaded, which `found` tells."""
    return "\n\n".join(kind.help() for kind in KINDS.loaded())
