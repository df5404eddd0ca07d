# SPDX-License-Identifier: GPL-2.0-or-later
"""Names a source by a TOML table: its `kind`, its `place` if the kind has one, and the kind's options.

The JSON Schema of a kind's options checks the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from happe_contract import schemas
from happe_contract.traces import Channel, Filter, Measures
from happe_power.sources.source import SourceError
from happe_power.toml_files import TEXT, meant, plain, written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from happe_power.sources.clock import Clock
    from happe_power.sources.source import Source

Json = dict[str, Any]

KIND_FIELD, PLACE = "kind", "place"
OPTIONAL = ""  # the default of an option that a table may lack
UNITS = {
    Measures.SHUNT: "V",
    Measures.SUPPLY: "V",
    Measures.CURRENT: "A",
    Measures.POWER: "W",
    Measures.ENERGY: "J",
    Measures.MARKER: "V",
}


class SpecError(SourceError):
    """The table that names a source can't be used; the message says which field, and why."""


def number(least: float | None = None, most: float | None = None, *, whole: bool = False) -> Json:
    """The schema of a number."""
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer" if whole else "number"} | {key: each for key, each in bounds.items() if each is not None}


def list_of(items: Json, *, unique: bool = False) -> Json:
    """The schema of a list of such items."""
    return {"type": "array", "items": items, "minItems": 1, "uniqueItems": unique}


@dataclass(frozen=True)
class Option:
    """An option of a kind. `default` None: a table must have it; OPTIONAL: a table may lack it.

    `schema` is the JSON Schema of its value.
    """

    name: str
    default: Any
    says: str
    schema: Json = field(default_factory=lambda: TEXT)


@dataclass(frozen=True)
class Found:
    """An instrument that this machine has, or something that it lacks for a kind.

    `table` names the source; None if the instrument can't be used now. `command` then helps, if any command does.
    """

    kind: str
    table: Json | None
    says: str
    command: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of source, with everything that a person needs to use it.

    `name` begins with a small letter; small letters, digits and _ follow, 32 in all. `example` has the fields of a
    table beside `kind`. `tested_with`: the real instruments that this kind has measured with, for people.
    """

    name: str  # of profiles/schema/power-trace.schema.json, source.kind
    summary: str
    place: str  # the meaning of `place`; "" if the kind has none
    example: Json
    options: tuple[Option, ...]
    make: Callable[[Spec, Clock], Source]
    find: Callable[[], list[Found]]
    tested_with: tuple[str, ...] = ()

    @property
    def every_option(self) -> tuple[Option, ...]:
        """The kind's place, its own options, and those of all kinds."""
        place = (Option(PLACE, OPTIONAL, self.place),) if self.place else ()
        return (*place, *self.options, *COMMON)

    @property
    def schema(self) -> Json:
        """The JSON Schema of a table of this kind."""
        described = {option.name: option.schema | {"description": option.says} for option in self.every_option}
        return {
            "type": "object",
            "properties": {KIND_FIELD: {"const": self.name}} | described,
            "required": [KIND_FIELD, *(option.name for option in self.options if option.default is None)],
            "additionalProperties": False,
        }

    def help(self) -> str:
        """An example table with every option and its meaning. Options that a table may lack are comments."""
        lines = [f"# {self.summary}", written({KIND_FIELD: self.name})]
        for option in self.every_option:
            value = self.example.get(option.name, option.default)
            line = f"# {option.name}" if value == OPTIONAL else written({option.name: value})
            lines.append(f"{line:36}  # {option.says}")
        return "\n".join(lines)


def bare(name: str, why: str) -> str:
    """A message about a field of a table that is in no file."""
    return f"{name}: {why}"


@dataclass(frozen=True)
class Spec:
    """A checked table. `values` has each given option and each option with a default; `given` names the given ones.

    `says` makes a message of a field's name and a reason.
    """

    kind: Kind
    values: Json
    given: frozenset[str]
    says: Callable[[str, str], str] = bare

    def wrong(self, name: str, why: str) -> SpecError:
        """An error about a field."""
        return SpecError(self.says(name, why))

    @property
    def place(self) -> str:
        """Where the instrument is; "" if the table does not say it."""
        return str(self.values.get(PLACE, OPTIONAL))

    def text_of(self, name: str) -> str:
        """An option's value as a text."""
        return str(self.values[name])

    def number(self, name: str) -> float:
        """An option's value as a number."""
        return float(self.values[name])

    def whole(self, name: str) -> int:
        """An option's value as a whole number."""
        return int(self.values[name])

    def items(self, name: str) -> list[Any]:
        """A list option's items; none if the table lacks it."""
        return list(self.values[name])

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """A list option as `count` numbers; one number stands for all channels. Raises SpecError."""
        found = self._list(name, count)
        if len(found) not in (1, count):
            raise self.wrong(name, f"{len(found)} values for {count} channels")
        return tuple(float(each) for each in (found if len(found) == count else found * count))

    def measures(self, count: int) -> tuple[Measures, ...]:
        """The quantity that each channel measures: as given, else shunt, then supply. Raises SpecError."""
        found = self._list("measures", count)
        if len(found) != count:
            raise self.wrong("measures", f'say what each of the {count} channels measures, as ["shunt", "supply"]')
        return tuple(map(Measures, found))

    def stated(self, channels: Sequence[Channel]) -> tuple[Channel, ...]:
        """Add the values of the COMMON options to channels. Raises SpecError."""
        count = len(channels)
        if "resolution" in self.given:
            steps = self.numbers("resolution", count)
            channels = [replace(each, resolution=step) for each, step in zip(channels, steps, strict=True)]
        if "bandwidth" in self.given:
            poles = self.numbers("poles", count)
            ripples = self.numbers("ripple", count) if "ripple" in self.given else [None] * count
            filters = [
                Filter("bandwidth of the source", hertz, int(number), ripple=ripple)
                for hertz, number, ripple in zip(self.numbers("bandwidth", count), poles, ripples, strict=True)
            ]
            channels = [replace(each, filter=one) for each, one in zip(channels, filters, strict=True)]
        return tuple(channels)

    def _list(self, name: str, count: int) -> list[Any]:
        """A list option's items. A default may have more items than there are channels; this drops the rest."""
        return self.items(name) if name in self.given else self.items(name)[:count]


NAMES = list_of(TEXT, unique=True)
MEASURES = Option(
    "measures",
    ["shunt", "supply"],
    "what each channel measures: shunt, supply, current, power, energy or marker",
    list_of({"enum": list(Measures)}),
)
COMMON = (
    Option(
        "bandwidth",
        OPTIONAL,
        "a list of Hz at which the signal at each input is down by 3 dB; one number is for all",
        list_of(number() | {"exclusiveMinimum": 0}),
    ),
    Option("poles", [1], "the filter's poles, each with that bandwidth", list_of(number(1, 8, whole=True))),
    Option(
        "ripple", OPTIONAL, "a list of the rms that each filter takes away, in the channel's unit", list_of(number(0))
    ),
    Option("resolution", OPTIONAL, "a list of the step of each channel's values, in its unit", list_of(number(1e-9))),
)


def checked(table: Mapping[str, Any], kinds: Mapping[str, Kind], says: Callable[[str, str], str] = bare) -> Spec:
    """Check a table. Raises SpecError, which says which field is wrong and what it may be."""
    name = table.get(KIND_FIELD)
    if not isinstance(name, str) or name not in kinds:
        why = "is missing" if name is None else f"no source is called {name!r}{meant(str(name), kinds)}"
        raise SpecError(says(KIND_FIELD, f"{why}; there are {', '.join(kinds)}"))
    kind = kinds[name]
    known = [option.name for option in kind.every_option]
    for key in table:
        if key not in (KIND_FIELD, *known):
            why = f"{name} has no such option{meant(key, known)}; it has {', '.join(known)}"
            raise SpecError(says(key, why))
    given = {key: plain(value) for key, value in table.items() if key != KIND_FIELD}
    for fault in schemas.faults(kind.schema, {KIND_FIELD: name} | given):
        at = fault.pointer.split("/")[1] if fault.pointer else KIND_FIELD
        raise SpecError(says(at, fault.detail))
    defaults = {option.name: option.default for option in kind.every_option}
    return Spec(kind, defaults | given, frozenset(given), says)


def channels_of(
    measures: Sequence[Measures],
    dtype: np.dtype[np.generic],
    scales: Sequence[float] = (),
    offsets: Sequence[float] = (),
    ends: Sequence[tuple[float | None, float | None]] = (),
) -> tuple[Channel, ...]:
    """Make channels, each named by its quantity; a second one of the same quantity is `shunt2` and so on.

    Without `scales` and `offsets` the raw values are in the channel's unit; without `ends` the range has no end.
    """
    count = len(measures)
    facts = (measures, scales or [1.0] * count, offsets or [0.0] * count, ends or [(None, None)] * count)
    channels: list[Channel] = []
    for what, scale, offset, (lowest, highest) in zip(*facts, strict=True):
        before = sum(1 for channel in channels if channel.measures is what)
        name = what.value if not before else f"{what.value}{before + 1}"
        channels.append(Channel(name, what, UNITS[what], dtype, scale, offset, lowest, highest))
    return tuple(channels)
