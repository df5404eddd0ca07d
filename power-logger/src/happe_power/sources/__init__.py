# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of source, HAPPE's own and those of installed packages by entry points (docs/decisions.md)."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.source import Source
from happe_power.sources.spec import KIND_FIELD, Found, Kind, Option, Spec, SpecError, bare, checked

__all__ = [
    "Found",
    "Kind",
    "Option",
    "Spec",
    "SpecError",
    "found",
    "help_text",
    "kinds",
    "make",
    "named",
    "notes_of",
]


def named(table: Mapping[str, Any], says: Callable[[str, str], str] = bare) -> Spec:
    """Check the table of a source; `says` makes the messages. Raises SpecError."""
    kind = table.get(KIND_FIELD)
    for each in kinds().ignored:
        if each.kind == kind and kind not in kinds():
            raise SpecError(says(KIND_FIELD, each.says))
    return checked(table, kinds(), says)


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
    return [one for name in kinds() for one in kinds().found(name)] + kinds().ignored


def notes_of(source: Source) -> tuple[str, ...]:
    """Lines that a person should read before trusting this source. Their number may grow during a recording."""
    notes: tuple[str, ...] = getattr(source, "notes", ())
    return notes


def help_text() -> str:
    """An example table of each kind."""
    return "\n\n".join(kind.help() for kind in kinds().values())


GROUP = "happe_power.sources"
OWN = ("comedi", "nidaqmx", "scpi", "powercap", "power_supply", "file", "sim")
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")  # power-trace.schema.json, source.kind


class Kinds(dict[str, Kind]):
    """All kinds by name: HAPPE's own, then others in alphabetical order. `ignored` are those that can't be used."""

    def __init__(self) -> None:
        """Load all. An entry point that can't be used, or whose name is taken, does no harm."""
        super().__init__()
        self.ignored: list[Found] = []
        own = [EntryPoint(name, f"happe_power.sources.{name}:KIND", GROUP) for name in OWN]
        for entry in [*own, *sorted(entry_points(group=GROUP), key=lambda each: each.name)]:
            try:
                self[entry.name] = self._loaded(entry)
            except Exception as error:  # noqa: BLE001 - another's package may raise anything
                why = str(error) if isinstance(error, ValueError) else f"it cannot be loaded: {error!r}"
                of = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
                says = f"the kind {entry.name!r}{of} is ignored: {why}"
                self.ignored.append(Found(entry.name, None, says))

    def _loaded(self, entry: EntryPoint) -> Kind:
        if not NAME.fullmatch(entry.name):
            raise ValueError("a kind's name has small letters, digits and _, and begins with a letter")
        if entry.name in self:
            raise ValueError(f"there is a kind {entry.name!r} already")
        kind = entry.load()
        if not isinstance(kind, Kind) or kind.name != entry.name:
            raise ValueError(f"{entry.value} is no Kind with the name {entry.name!r}")
        try:
            checked({"kind": entry.name} | kind.example, {entry.name: kind})
        except (SpecError, ValueError) as error:
            raise ValueError(f"its example does not fit its own options: {error}") from None
        return kind

    def found(self, name: str) -> list[Found]:
        """The instruments of a kind on this machine; if its search fails, the reason."""
        try:
            return self[name].find()
        except Exception as error:  # noqa: BLE001 - another's package may raise anything
            return [Found(name, None, f"looking for its instruments failed: {error!r}")]


@cache
def kinds() -> Kinds:
    """All kinds, loaded at the first call."""
    return Kinds()
