# SPDX-License-Identifier: GPL-2.0-or-later
"""Names a source, by a text KIND:PLACE,OPTION=VALUE,... with + between a list's words, or by a table.

The JSON Schema of a kind's options checks both.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from happe_contract import schemas
from happe_contract.traces import Channel, Filter, Measures
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

    from happe_power.sources.clock import Clock
    from happe_power.sources.source import Source

Json = dict[str, Any]

LIST_MARK = "+"
YES_NO = {"yes": True, "no": False}
UNITS = {
    Measures.SHUNT: "V",
    Measures.SUPPLY: "V",
    Measures.CURRENT: "A",
    Measures.POWER: "W",
    Measures.ENERGY: "J",
    Measures.MARKER: "V",
}


class SpecError(SourceError):
    """The text that names a source can't be understood; the message says which word and what it may be."""


class TableError(SpecError):
    """The table that names a source can't be understood: which field, and why."""

    def __init__(self, name: str, why: str) -> None:
        """Take the field's name, and the reason."""
        super().__init__(f"{name}: {why}")
        self.name, self.why = name, why


def number(least: float | None = None, most: float | None = None, *, whole: bool = False) -> Json:
    """The schema of a number."""
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer" if whole else "number"} | {key: each for key, each in bounds.items() if each is not None}


def list_of(items: Json, *, unique: bool = False) -> Json:
    """The schema of a list of such items."""
    return {"type": "array", "items": items, "minItems": 1, "uniqueItems": unique}


TEXT: Json = {"type": "string", "minLength": 1}
YES_OR_NO: Json = {"type": "boolean"}


@dataclass(frozen=True)
class Option:
    """An option of a spec. `default` None: the option is required; "": a user may leave it out.

    `schema` is the JSON Schema of its value. The schema's type decides how a spec writes the value: a number, yes or no
    for a boolean, words joined by + for an array, a text.
    """

    name: str
    default: str | None
    says: str
    schema: Json = field(default_factory=lambda: TEXT)


@dataclass(frozen=True)
class Found:
    """An instrument that this machine has, or something that it lacks for a kind.

    `spec` is the text for `--source`; None if the instrument can't be used now. `command` then helps, if any command
    does.
    """

    kind: str
    spec: str | None
    says: str
    command: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of source, with everything that a person needs to use it.

    `name` begins with a small letter; small letters, digits and _ follow, 32 in all. `tested_with`: the real
    instruments that this kind has measured with, for people.
    """

    name: str  # of profiles/schema/power-trace.schema.json, source.kind
    summary: str
    place: str  # the meaning of PLACE; "" if there is none
    example: str
    options: tuple[Option, ...]
    make: Callable[[Spec, Clock], Source]
    find: Callable[[], list[Found]]
    tested_with: tuple[str, ...] = ()

    @property
    def every_option(self) -> tuple[Option, ...]:
        """The kind's own options, and those of all kinds."""
        return (*self.options, *COMMON)

    @property
    def schema(self) -> Json:
        """The JSON Schema of this kind's options, as in a table in a configuration."""
        return {
            "type": "object",
            "properties": {option.name: option.schema | {"description": option.says} for option in self.every_option},
            "required": [option.name for option in self.options if option.default is None],
            "additionalProperties": False,
        }

    def help(self) -> str:
        """A help text of some lines: the kind, an example, and every option with its default."""
        place = f":{self.place}" if self.place else ""
        width = max(len(option.name) for option in self.every_option)
        lines = [f"{self.name}{place}[,OPTION=VALUE]...", f"  {self.summary}", f"  e.g. {self.example}"]
        for option in self.every_option:
            default = "" if option.default is None else f" [{option.default}]"
            lines.append(f"  {option.name:{width}}  {option.says}{default}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Spec:
    """A parsed spec. `values` has each given option and each option with a default; `given` names the given ones."""

    text: str
    place: str
    values: dict[str, str]
    given: frozenset[str]

    def text_of(self, name: str) -> str:
        """An option's value."""
        return self.values[name]

    def number(self, name: str) -> float:
        """An option's value as a number."""
        return float(self.values[name])

    def whole(self, name: str) -> int:
        """An option's value as a whole number."""
        return int(self.number(name))

    def is_so(self, name: str) -> bool:
        """Whether an option is yes."""
        return YES_NO[self.values[name]]

    def names(self, name: str) -> tuple[str, ...]:
        """The words of a list option."""
        return tuple(self.values[name].split(LIST_MARK))

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """A list option as `count` numbers; one number stands for all channels. Raises SpecError."""
        words = self._list(name, count)
        if len(words) not in (1, count):
            raise SpecError(f"{self.text}: {name}={self.values[name]}: {len(words)} values for {count} channels")
        numbers = tuple(map(float, words))
        return numbers if len(numbers) == count else numbers * count

    def measures(self, count: int) -> tuple[Measures, ...]:
        """The quantity that each channel measures: as given, else shunt, then supply. Raises SpecError."""
        words = self._list("measures", count)
        if len(words) != count:
            raise SpecError(f"{self.text}: say what each of the {count} channels measures, e.g. measures=shunt+supply")
        return tuple(map(Measures, words))

    def stated(self, channels: Sequence[Channel]) -> tuple[Channel, ...]:
        """Add the values of the COMMON options to channels. Raises SpecError."""
        count = len(channels)
        if self.text_of("resolution"):
            steps = self.numbers("resolution", count)
            channels = [replace(each, resolution=step) for each, step in zip(channels, steps, strict=True)]
        if self.text_of("bandwidth"):
            words = self._list("bandwidth", count)
            if len(words) not in (1, count):
                raise SpecError(f"{self.text}: bandwidth: {len(words)} values for {count} channels")
            filters = [self._filter(word) for word in words] * (count // len(words))
            channels = [replace(each, filter=one) for each, one in zip(channels, filters, strict=True)]
        return tuple(channels)

    @staticmethod
    def _filter(word: str) -> Filter:
        hertz, _, poles = word.partition(":")
        return Filter("bandwidth= of the source", float(hertz), int(poles or 1))

    def _list(self, name: str, count: int) -> list[str]:
        """The words of a list option. A default may have more words than channels; this drops the rest."""
        words = self.values[name].split(LIST_MARK)
        return words if name in self.given else words[:count]


NAMES = list_of(TEXT, unique=True)
MEASURES = Option(
    "measures",
    "shunt+supply",
    "what each channel measures: shunt, supply, current, power, energy or marker",
    list_of({"enum": list(Measures)}),
)
OPTIONAL = ""  # the default of an optional option
COMMON = (
    Option(
        "bandwidth",
        OPTIONAL,
        "Hz at which the signal at each input is down by 3 dB; 160:2 means two such poles",
        list_of({"pattern": r"^(0*[1-9][0-9]*(\.[0-9]+)?|0*\.0*[1-9][0-9]*)(:[1-8])?$"}),
    ),
    Option("resolution", OPTIONAL, "the step of each channel's values, in its unit", list_of(number(1e-9))),
)


def parse(text: str, kinds: Mapping[str, Kind]) -> tuple[Kind, Spec]:
    """Parse a spec's text. Raises SpecError, which says which word is wrong and what it may be."""
    head, *words = text.split(",")
    name, _, place = head.partition(":")
    if name not in kinds:
        raise SpecError(f"{text}: no source is called {name!r}{_meant(name, kinds)}; there are {', '.join(kinds)}")
    kind = kinds[name]
    given = _given(text, words, kind)
    missing = [option.name for option in kind.options if option.default is None and option.name not in given]
    if missing:
        raise SpecError(f"{text}: {missing[0]}= is missing; e.g. {kind.example}")
    defaults = {option.name: option.default for option in kind.every_option if option.default is not None}
    spec = Spec(text, place, defaults | given, frozenset(given))
    for name, why in faults(kind, spec.values):
        raise SpecError(f"{text}: {name}={spec.values[name]} {why}; e.g. {kind.example}")
    return kind, spec


def faults(kind: Kind, values: Mapping[str, str]) -> list[tuple[str, str]]:
    """The faults of options' values by the kind's schema: an option's name, and the reason."""
    options = [option for option in kind.every_option if values.get(option.name, OPTIONAL) != OPTIONAL]
    said = {option.name: _typed(option.schema, values[option.name]) for option in options}
    return [(fault.pointer.split("/")[1], fault.detail) for fault in schemas.faults(kind.schema, said)]


def _typed(schema: Json, word: str) -> Any:  # noqa: ANN401 - as in the schema
    """Convert a word to the schema's type, or return it as a text if that fails."""
    match schema.get("type"):
        case "array":
            return [_typed(schema.get("items", {}), each) for each in word.split(LIST_MARK)]
        case "boolean":
            return YES_NO.get(word, word)
        case "integer" | "number":
            try:
                value = float(word)
            except ValueError:
                return word
            return (int(value) if value.is_integer() else value) if math.isfinite(value) else word
    return word


def text_of_table(table: Mapping[str, Any], kinds: Mapping[str, Kind]) -> str:
    """Convert a table into a spec: its `kind`, its `place` if it has one, and the kind's options.

    Raises TableError, which says which field is wrong.
    """
    options = dict(table)
    name, place = options.pop("kind", None), options.pop("place", "")
    if not isinstance(name, str) or name not in kinds:
        known = f"; there are {', '.join(kinds)}"
        raise TableError("kind", f"{'is missing' if name is None else 'is not known'}{known}")
    if not isinstance(place, str):
        raise TableError("place", "must be a text")
    kind = kinds[name]
    known_names = [option.name for option in kind.every_option]
    for key in options:
        if key not in known_names:
            raise TableError(
                key, f"{name} has no such option{_meant(key, known_names)}; it has {', '.join(known_names)}"
            )
    for fault in schemas.faults(kind.schema, {key: _finite(value) for key, value in options.items()}):
        raise TableError(fault.pointer.split("/")[1] if fault.pointer else "kind", fault.detail)
    head = f"{name}:{_word('place', place)}" if place else name
    return ",".join([head, *(f"{key}={_word(key, value)}" for key, value in options.items())])


def _finite(value: Any) -> Any:  # noqa: ANN401 - as in TOML
    """Return a value that JSON can hold. An infinite number or NaN becomes a text, which the schema refuses."""
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _word(key: str, value: Any) -> str:  # noqa: ANN401 - as in TOML
    """Write a value as in a spec. Raises TableError."""
    if isinstance(value, list):
        words = [_word(key, each) for each in value]
        if any(LIST_MARK in word for word in words):
            raise TableError(key, f"{LIST_MARK} is not allowed in a list")
        return LIST_MARK.join(words)
    if isinstance(value, bool):
        return "yes" if value else "no"
    word = str(value)
    if "," in word or not word.isprintable():
        raise TableError(key, "a comma or a control character is not allowed here")
    return word


def _given(text: str, words: Iterable[str], kind: Kind) -> dict[str, str]:
    known = [option.name for option in kind.every_option]
    given: dict[str, str] = {}
    for word in words:
        name, mark, value = word.partition("=")
        if not mark or not value:
            raise SpecError(f"{text}: {word!r} is not OPTION=VALUE; e.g. {kind.example}")
        if name not in known:
            raise SpecError(
                f"{text}: {kind.name} has no option {name!r}{_meant(name, known)}; it has {', '.join(known)}"
            )
        if name in given:
            raise SpecError(f"{text}: {name}= is given twice")
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
    """Make channels, each named by its quantity; a second one of the same quantity is `shunt2` and so on."""
    ends = ends or [(None, None)] * len(measures)
    channels: list[Channel] = []
    for what, scale, offset, (lowest, highest) in zip(measures, scales, offsets, ends, strict=True):
        before = sum(1 for channel in channels if channel.measures is what)
        name = what.value if not before else f"{what.value}{before + 1}"
        channels.append(Channel(name, what, UNITS[what], dtype, scale, offset, lowest, highest))
    return tuple(channels)
