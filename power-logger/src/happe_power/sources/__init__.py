# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of source, HAPPE's own and those of installed packages by entry points (docs/decisions.md)."""

from __future__ import annotations

import re
from collections import UserDict
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from happe_power.sources.clock import Clock, SystemClock
from happe_power.sources.source import SourceError
from happe_power.sources.spec import Found, Kind, Option, Spec, SpecError, bare, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
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


GROUP = "happe_power.sources"
OWN = ("comedi", "nidaqmx", "scpi", "powercap", "power_supply", "file", "sim")
NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")  # power-trace.schema.json, source.kind


class Kinds(UserDict[str, Kind]):
    """Kinds by name. Each is loaded at its first use, so nobody waits for unused libraries.

    `kinds[name]` raises SourceError if the package that brings the kind cannot be used; the message names it.
    """

    def __missing__(self, name: str) -> Kind:
        """Load a kind, and keep it."""
        own = name in OWN
        entry = EntryPoint(name, f"happe_power.sources.{name}:KIND", GROUP) if own else self._others[name]
        try:
            kind = entry.load()
        except Exception as error:  # noqa: BLE001 - another's package may raise anything
            raise SourceError(f"{_who(entry)} cannot be loaded: {error!r}") from None
        if not isinstance(kind, Kind) or kind.name != name:
            raise SourceError(f"{_who(entry)}: {entry.value} is no Kind with the name {name!r}")
        try:
            checked({"kind": name} | kind.example, {name: kind})
        except (SpecError, ValueError) as error:
            raise SourceError(f"{_who(entry)}: its example does not fit its own options: {error}") from None
        self[name] = kind
        return kind

    def __iter__(self) -> Iterator[str]:
        """The names: HAPPE's own, then others in alphabetical order."""
        return iter((*OWN, *sorted(self._others)))

    def __len__(self) -> int:
        """The number of kinds."""
        return len(OWN) + len(self._others)

    def __contains__(self, name: object) -> bool:
        """Whether there is such a kind; it need not be loadable."""
        return name in OWN or name in self._others

    def loaded(self) -> list[Kind]:
        """All kinds that can be loaded."""
        return [kind for name in self if (kind := self._if_it_can(name))]

    def found(self, name: str) -> list[Found]:
        """The instruments of a kind on this machine; if the kind or its search fails, the reason."""
        try:
            return self[name].find()
        except SourceError as error:
            return [Found(name, None, str(error))]
        except Exception as error:  # noqa: BLE001 - another's package may raise anything
            return [Found(name, None, f"looking for its instruments failed: {error!r}")]

    def passed_over(self) -> list[Found]:
        """The entry points that are ignored, because their names are bad or taken, and why."""
        return [Found(entry.name, None, f"{_who(entry)} is ignored: {why}") for entry, why in self._sorted[1]]

    @property
    def _others(self) -> dict[str, EntryPoint]:
        return self._sorted[0]

    @cached_property
    def _sorted(self) -> tuple[dict[str, EntryPoint], list[tuple[EntryPoint, str]]]:
        good: dict[str, EntryPoint] = {}
        bad: list[tuple[EntryPoint, str]] = []
        for entry in entry_points(group=GROUP):
            if not NAME.fullmatch(entry.name):
                bad.append((entry, "a kind's name has small letters, digits and _, and begins with a letter"))
            elif entry.name in OWN or entry.name in good:
                bad.append((entry, f"there is a kind {entry.name!r} already"))
            else:
                good[entry.name] = entry
        return good, bad

    def _if_it_can(self, name: str) -> Kind | None:
        try:
            return self[name]
        except SourceError:
            return None


def _who(entry: EntryPoint) -> str:
    """The package of an entry point, for people."""
    of = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
    return f"the kind {entry.name!r}{of}"


KINDS = Kinds()
