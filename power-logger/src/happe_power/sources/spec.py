# SPDX-License-Identifier: GPL-2.0-or-later
"""How a source is named on the command line: KIND:PLACE,OPTION=VALUE,...  A list is joined by +, as in channels=0+1."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_contract.traces import Channel, Measures
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np

    from happe_power.sources.clock import Clock
    from happe_power.sources.source import Source

LIST_MARK = "+"
UNITS = {
    Measures.SHUNT: "V",
    Measures.SUPPLY: "V",
    Measures.CURRENT: "A",
    Measures.POWER: "W",
    Measures.ENERGY: "J",
}


class SpecError(SourceError):
    """The text that names a source can't be understood; the message says which word and what it may be."""


@dataclass(frozen=True)
class Option:
    """A word that may stand in a spec. `default` None: it must be given."""

    name: str
    default: str | None
    says: str


@dataclass(frozen=True)
class Found:
    """Something of a kind that this machine has, or what it lacks.

    `spec` names it for `--source`, None if it can't be used as things are; then `command` is what helps, if any does.
    """

    kind: str
    spec: str | None
    says: str
    command: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of source, with all that a person needs to use it."""

    name: str  # of profiles/schema/power-trace.schema.json, source.kind
    summary: str
    place: str  # what PLACE is, "" if there is none
    example: str
    options: tuple[Option, ...]
    make: Callable[[Spec, Clock], Source]
    find: Callable[[], list[Found]]

    def help(self) -> str:
        """Some lines that teach this kind: what it is, an example, every option with its default."""
        place = f":{self.place}" if self.place else ""
        width = max(len(option.name) for option in self.options)
        lines = [f"{self.name}{place}[,OPTION=VALUE]...", f"  {self.summary}", f"  e.g. {self.example}"]
        for option in self.options:
            default = "" if option.default is None else f" [{option.default}]"
            lines.append(f"  {option.name:{width}}  {option.says}{default}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Spec:
    """A spec's text, split. `values` has each option that was given or has a default, `given` names the former."""

    text: str
    place: str
    values: dict[str, str]
    given: frozenset[str]

    def text_of(self, name: str) -> str:
        """An option's value."""
        return self.values[name]

    def one_of(self, name: str, known: Sequence[str]) -> str:
        """An option's value, one of some words."""
        if self.values[name] not in known:
            raise SpecError(f"{self.text}: {name}={self.values[name]}; it may be one of {', '.join(known)}")
        return self.values[name]

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """An option's value as a finite number within bounds."""
        return self._number(name, self.values[name], least, most)

    def whole(self, name: str, least: int, most: int) -> int:
        """An option's value as a whole number within bounds."""
        number = self.number(name, least, most)
        if number != int(number):
            raise SpecError(f"{self.text}: {name}={self.values[name]} is not a whole number")
        return int(number)

    def names(self, name: str) -> tuple[str, ...]:
        """A list; each of its words may stand there once."""
        words = tuple(self.values[name].split(LIST_MARK))
        if "" in words or len(set(words)) != len(words):
            raise SpecError(f"{self.text}: {name}={self.values[name]} has an empty or repeated word; e.g. {name}=0+1")
        return words

    def numbers(self, name: str, count: int, least: float = -math.inf) -> tuple[float, ...]:
        """A list of as many numbers as there are channels, or one for all of them."""
        words = self._list(name, count)
        if len(words) not in (1, count):
            raise SpecError(f"{self.text}: {name}={self.values[name]}: {len(words)} values for {count} channels")
        numbers = tuple(self._number(name, word, least, math.inf) for word in words)
        return numbers if len(numbers) == count else numbers * count

    def measures(self, count: int) -> tuple[Measures, ...]:
        """What each channel measures: as given, else shunt, then supply."""
        words = self._list("measures", count)
        if len(words) != count:
            raise SpecError(f"{self.text}: say what each of the {count} channels measures, e.g. measures=shunt+supply")
        try:
            return tuple(Measures(word) for word in words)
        except ValueError as error:
            known = ", ".join(Measures)
            raise SpecError(
                f"{self.text}: measures={self.values['measures']}: {error}; it may be one of {known}"
            ) from None

    def _list(self, name: str, count: int) -> list[str]:
        """A list's words; a default may have more of them than are needed."""
        words = self.values[name].split(LIST_MARK)
        return words if name in self.given else words[:count]

    def _number(self, name: str, word: str, least: float, most: float) -> float:
        try:
            number = float(word)
        except ValueError:
            raise SpecError(f"{self.text}: {name}={word} is not a number") from None
        if not (math.isfinite(number) and least <= number <= most):
            bounds = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
            raise SpecError(f"{self.text}: {name}={word} must be {bounds}")
        return number


MEASURES = Option("measures", "shunt+supply", "what each channel measures: shunt, supply, current, power or energy")
OPTIONAL = ""  # the default of an option that may be left out


def parse(text: str, kinds: dict[str, Kind]) -> tuple[Kind, Spec]:
    """The kind and what was said of it; SpecError says which word is wrong and what it may be."""
    head, *words = text.split(",")
    name, _, place = head.partition(":")
    if name not in kinds:
        raise SpecError(f"{text}: no source is called {name!r}{_meant(name, kinds)}; there are {', '.join(kinds)}")
    kind = kinds[name]
    given = _given(text, words, kind)
    missing = [option.name for option in kind.options if option.default is None and option.name not in given]
    if missing:
        raise SpecError(f"{text}: {missing[0]}= is missing; e.g. {kind.example}")
    defaults = {option.name: option.default for option in kind.options if option.default is not None}
    return kind, Spec(text, place, defaults | given, frozenset(given))


def _given(text: str, words: Iterable[str], kind: Kind) -> dict[str, str]:
    known = [option.name for option in kind.options]
    given: dict[str, str] = {}
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not value:
            raise SpecError(f"{text}: {word!r} is no OPTION=VALUE; e.g. {kind.example}")
        if name not in known:
            raise SpecError(
                f"{text}: {kind.name} has no option {name!r}{_meant(name, known)}; it has {', '.join(known)}"
            )
        if name in given:
            raise SpecError(f"{text}: {name}= is there twice")
        given[name] = value
    return given


def _meant(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}" if close else ""


def channels_of(
    measures: Sequence[Measures],
    dtype: np.dtype[np.generic],
    scales: Sequence[float],
    offsets: Sequence[float],
    ends: Sequence[tuple[float | None, float | None]] | None = None,
) -> tuple[Channel, ...]:
    """Channels named by what they measure; the second of a kind is `shunt2` and so on."""
    ends = ends or [(None, None)] * len(measures)
    channels: list[Channel] = []
    for what, scale, offset, (lowest, highest) in zip(measures, scales, offsets, ends, strict=True):
        before = sum(1 for channel in channels if channel.measures is what)
        name = what.value if not before else f"{what.value}{before + 1}"
        channels.append(Channel(name, what, UNITS[what], dtype, scale, offset, lowest, highest))
    return tuple(channels)
