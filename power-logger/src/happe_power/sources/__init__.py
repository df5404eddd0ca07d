# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of source: finds this machine's instruments, and makes a source from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.door import KINDS
from happe_power.sources.spec import Found, Kind, Option, Spec, SpecError, bare, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from happe_power.sources.source import Source

__all__ = [
    "KINDS",
    "Found",
    "Kind",
    "Option",
    "Spec",
    "SpecError",
    "found",
    "help_text",
    "make",
    "named",
    "notes_of",
]


def named(table: Mapping[str, Any], says: Callable[[str, str], str] = bare) -> Spec:
    """Check the table of a source; `says` makes the messages. Raises SpecError."""
    return checked(table, KINDS, says)


def make(source: Spec | Mapping[str, Any], clock: Clock | None = None) -> Source:
    """Make the source that a table names. It is not started.

    Raises SpecError if the table is wrong, SourceError if the instrument is missing or can't do this.
    """
    spec = source if isinstance(source, Spec) else named(source)
    made = spec.kind.make(spec, clock or SystemClock())
    made.channels = spec.stated(made.channels)
    return made


def found() -> list[Found]:
    """The instruments of this machine, kind by kind; for what is missing, the command that installs it."""
    return [one for name in KINDS for one in KINDS.found(name)] + KINDS.passed_over()


def notes_of(source: Source) -> tuple[str, ...]:
    """Lines that a person should read before trusting this source. Their number may grow during a recording."""
    notes: tuple[str, ...] = getattr(source, "notes", ())
    return notes


def help_text() -> str:
    """An example table of each kind, without kinds that cannot be loaded (`found` has these)."""
    return "\n\n".join(kind.help() for kind in KINDS.loaded())
