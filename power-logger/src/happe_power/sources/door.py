# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads kinds of sources by entry points, HAPPE's own and those of installed packages (docs/decisions.md)."""

from __future__ import annotations

import re
from collections import UserDict
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from happe_power.sources.source import SourceError
from happe_power.sources.spec import Found, Kind, SpecError, checked

if TYPE_CHECKING:
    from collections.abc import Iterator

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
