# SPDX-License-Identifier: GPL-2.0-or-later
"""Guesses how another program wrote a text file of samples, for what the source's table does not say. Pure."""

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

from happe_contract.strict_json import Json
from happe_contract.traces import Measures
from happe_power.sources.instants import DATES, TIME, ZONE, InstantError, Values, seconds
from happe_power.sources.text import cells, number

MOST_LINES = 2000  # from which to guess
BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
NUMBER, INSTANT, EMPTY, TEXT = "number", "instant", "empty", "text"
PREFIXES = {"": 1.0, "u": 1e-6, "m": 1e-3, "k": 1e3}
SCALES = {f"{prefix}{unit}": (scale, unit) for prefix, scale in PREFIXES.items() for unit in "VAWJ"}
SCALES |= {f"{prefix}Wh": (3600 * scale, "J") for prefix, scale in PREFIXES.items()}
UNITS = {unit.lower(): unit for unit in SCALES} | {"volts": "V", "amps": "A", "watts": "W", "joules": "J"}
QUANTITIES = {"voltage": "V", "supply": "V", "shunt": "V", "current": "A", "power": "W", "energy": "J"}
QUANTITIES |= {"u": "V", "i": "A", "p": "W", "spannung": "V", "strom": "A", "leistung": "W"}
TIME_SCALES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
TIME_UNITS = {"sec": "s", "seconds": "s", "milliseconds": "ms"} | {unit: unit for unit in TIME_SCALES}
TIMES = {"t", "time", "timestamp", "datetime", "date", "elapsed", "epoch", "zeit", "datum", *TIME_UNITS}
INDICES = {"index", "sample", "record", "row", "nr", "no", "n"}
FILLERS = {"", "ts", "rn", "smp", "avg"}  # of a Campbell logger's third and fourth line
OF_UNIT = {"A": Measures.CURRENT, "W": Measures.POWER, "J": Measures.ENERGY, "V": Measures.SUPPLY}
DELIMITERS = ["\t", ";", "|", ","]  # the last one may be a decimal mark
EPOCHS = {"1970": 0.0, "1904": -2_082_844_800.0, "none": 0.0}  # seconds since 1970; LabVIEW counts from 1904
SPANS = {"1970": (9.46e8, 3.0e9), "1904": (3.0e9, 5.0e9)}  # the years 2000 to 2065, 1999 to 2062
PLAIN_TIME = re.sub(r"\?P<\w+>", "?:", TIME + ZONE)
LIKE_INSTANT = re.compile(
    rf"\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}((T|,? +){PLAIN_TIME})?|\d{{8}}T{PLAIN_TIME}|(?=\d+:){PLAIN_TIME}"
)
ORDINARY = 3.0  # times the median: longer steps are gaps
CUT = 2  # a coarse clock's first and last ticks may be
MOST = 0.5  # of the rows
SAME = 1e-4  # the share by which two rates may differ


class GuessError(ValueError):
    """An option must be given: `option` is its name, `line` the line of the file that shows nothing better."""

    def __init__(self, option: str, why: str) -> None:
        """Take the option's name, and why nobody can guess its value."""
        super().__init__(why)
        self.option, self.line = option, 1


def encoding_of(sample: bytes) -> str:
    """The encoding of a text, by its byte order mark or its bytes."""
    for mark, name in BOMS.items():
        if sample.startswith(mark):
            return name
    if b"\0" in sample[:2]:
        return "utf-16-be" if sample[0] == 0 else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


@dataclass(frozen=True)
class Split:
    """A way to split lines. `kinds` are those of the cells of most rows; `at` is the first such line, from 0."""

    delimiter: str
    decimal: str
    rows: list[list[str]]
    kinds: tuple[str, ...] = ()
    at: int = 0
    score: tuple[float, int] = (0.0, 0)

    def kind(self, cell: str) -> str:
        """What a cell has."""
        if not cell:
            return EMPTY
        try:
            number(cell, self.decimal)
        except ValueError:
            return INSTANT if LIKE_INSTANT.fullmatch(cell) else TEXT
        return NUMBER

    def names(self, at: int) -> bool:
        """Whether a line may name the columns: as many cells as a row has, none of them a number."""
        row, width = self.rows[at], len(self.kinds)
        fits = len(row) == width or (row[-1:] == [""] and len(row) == width + 1)
        fits |= self.kinds[-1:] == (EMPTY,) and len(row) == width - 1
        return any(row) and (fits or not width) and NUMBER not in map(self.kind, row)


def _split(lines: Sequence[str], delimiter: str, decimal: str, quote: str) -> Split:
    found = Split(delimiter, decimal, [cells(line, delimiter, quote) for line in lines])
    kinds = [tuple(map(found.kind, row)) for row in found.rows]
    for usual, count in Counter(each for each in kinds if NUMBER in each).most_common(1):
        share = sum(each in (NUMBER, INSTANT) for each in usual) / len(usual)
        return Split(delimiter, decimal, found.rows, usual, kinds.index(usual), (count * share, len(usual)))
    return found


def settled(lines: Sequence[str], given: Json) -> Json:
    """The options of a file's table: the given ones, and guesses for others. `lines`: its first ones.

    Raises GuessError.
    """
    lines = lines[:MOST_LINES]
    single = any("'" in line for line in lines) and not any('"' in line for line in lines)
    found: Json = {"quote": "'" if single else '"'} | given
    delimiters = [found["delimiter"]] if "delimiter" in found else DELIMITERS
    decimals = [found["decimal"]] if "decimal" in found else [".", ","]
    ways = [_split(lines, *way, found["quote"]) for way in product(delimiters, decimals) if way[0] != way[1]]
    best = max(ways, key=lambda way: way.score)
    if not best.kinds and "channels" not in given:
        raise GuessError("", "no line is a row of numbers; is it text in columns?")
    header, first, names, units = _header(best, found)
    layout: Json = {"delimiter": best.delimiter, "decimal": best.decimal, "header": header, "first": first}
    found = layout | found
    columns = Columns(best, found, names, units)
    try:
        return {"names": names} | columns.times() | columns.values()
    except GuessError as error:
        error.line = max(header, 1) if error.option in ("", "channels", "measures") else found["first"]
        raise


def _header(found: Split, given: Json) -> tuple[int, int, list[str], list[str]]:
    """The lines, from 1, of the names (0: none) and of the first row; the names; and the units by a line of them."""
    width = len(found.kinds)
    wanted = {*given.get("channels", ()), *(given[each] for each in ("time", "date", "index") if each in given)}
    named = next((at for at, row in enumerate(found.rows) if wanted and wanted <= {*row}), None)
    named = given.get("header", 0 if named is None else named + 1) - 1
    if named >= len(found.rows):
        raise GuessError("header", f"the file's beginning has only {len(found.rows)} lines")
    above = [at for at in range(found.at if width else len(found.rows)) if found.names(at)]
    above = [at for at in above if at > named] if width or named < 0 else []
    if named >= 0:
        above = [named, *above]
    elif given.get("header") == 0 or not above:
        return 0, given.get("first", found.at + 1), [str(each + 1) for each in range(width)], [""] * width
    above = above if width else above[:1]
    last, units = above[-1], [""] * width
    while len(above) > 1 and all(_unit_of(cell) or cell.lower() in FILLERS for cell in found.rows[above[-1]]):
        row = found.rows[above.pop()]
        units = [_unit_of(cell) for cell in row] if any(map(_unit_of, row)) else units
    names = found.rows[above[0 if named >= 0 else -1]]
    if found.names(above[-1]):
        names = (names + [""] * width)[: width or None]
    return above[-1] + 1, given.get("first", last + 2), names, (units + [""] * len(names))[: len(names)]


def _words(name: str) -> list[str]:
    return re.split(r"[^a-z]+", name.lower().replace("\u00b5", "u").replace("\u03bc", "u"))


def _unit_of(name: str) -> str:
    """The unit that a column's name ends with, or the quantity's; empty if it has none."""
    words = [word for word in _words(name) if word]
    for known in (UNITS, TIME_UNITS):
        if words and words[-1] in known:
            return known[words[-1]]
    return ""


class Columns:
    """Chooses the columns of a file."""

    def __init__(self, split: Split, found: Json, names: list[str], units: list[str]) -> None:
        """`units`: by a line of its own, if there is one."""
        self._split, self._found, self._names = split, found, names
        self._units = [unit or _unit_of(name) for name, unit in zip(names, units, strict=True)]
        self._kinds = split.kinds if len(split.kinds) == len(names) else ()
        self._rows = [row for row in split.rows[found["first"] - 1 :] if len(row) == len(names)]

    def _texts(self, name: str) -> list[str]:
        column = self.column(name)
        return [row[column] for row in self._rows]

    def _numbers(self, name: str) -> Values:
        """The numbers of a column's first rows; those that are none are left out."""
        decimal = self._split.decimal
        kept = [cell for cell in self._texts(name) if self._split.kind(cell) is NUMBER]
        return np.array([number(cell, decimal) for cell in kept], np.float64)

    def column(self, name: str) -> int:
        """The place of a column. Raises GuessError."""
        if self._names.count(name) != 1:
            raise GuessError("", f"there is not one column {name!r}; there are: {', '.join(self._names)[:200]}")
        return self._names.index(name)

    def _like(self, kind: str, words: set[str]) -> list[str]:
        kinds = zip(self._names, self._kinds, strict=False)
        return [name for name, each in kinds if each is kind and name and (not words or words & set(_words(name)))]

    def times(self) -> Json:
        """Choose the columns of times or indices, and how they count. Raises GuessError."""
        found = self._found
        if "time" not in found and "index" not in found:
            instants = self._like(INSTANT, set())
            clock = [name for name in instants if ":" in "".join(self._texts(name)[:1])]
            numbers = [name for name in self._like(NUMBER, TIMES) if name not in found.get("channels", ())]
            rising = [name for name in numbers if 2 * (np.diff(seen := self._numbers(name)) < 0).sum() <= len(seen)]
            indices = self._like(NUMBER, INDICES)
            if at := [*clock, *instants, *rising]:
                found["time"] = at[0]
            elif indices:
                found["index"] = indices[0]
        if "index" in found:
            self.column(found["index"])
        if "time" in found:
            self._time(found["time"])
        if "rate" not in found:
            raise GuessError("rate", "the file has no times from which it follows: how many samples a second?")
        return found

    def _time(self, name: str) -> None:
        """How a column of times counts."""
        found, texts = self._found, self._texts(name)
        column = self.column(name)
        if self._kinds and self._kinds[column] is not NUMBER:
            dates = [each for each in self._like(INSTANT, set()) if each != name]
            if "date" not in found and dates and not re.match(r"\d+[-/.]", texts[0]):
                found["date"] = dates[0]
            if "date" in found:
                texts = [f"{day} {at}" for day, at in zip(self._texts(found["date"]), texts, strict=True)]
            if "dates" not in found:
                found["dates"] = self._order(texts)
            at = _seconds(texts, found["dates"])
        else:
            at = self._numbers(name)
            self._unit(at, self._units[column])
            at = at * TIME_SCALES[found["time_unit"]]
        if "rate" not in found:
            found["rate"] = _rate(at)

    def _order(self, texts: Sequence[str]) -> str:
        """The order of day, month and year. Raises GuessError."""
        if not texts:
            return "ymd"
        possible = [each for each in DATES if np.isfinite(_seconds(texts, each)).mean() > MOST]
        if not possible:
            says = f"{texts[0]!r} is no time with its day, as 2026-11-28T07:00:00Z"
            raise GuessError("time", f"{says}; if another column has the day, give that as date")
        if possible == ["dmy", "mdy"]:
            if "." in texts[0][:3]:
                return "dmy"
            if re.search(r"[AaPp][Mm]", texts[0]):
                return "mdy"
            raise GuessError("dates", f"is {texts[0]!r} day before month (dmy), or month before day (mdy)?")
        return possible[0]

    def _unit(self, at: Values, unit: str) -> None:
        """The unit and the epoch of times that are numbers: those for which the first is in this century."""
        found = self._found
        fixed = found.get("time_unit") or (unit if unit in TIME_SCALES else "")
        at = at[np.isfinite(at)]
        for each, epoch in product([fixed] if fixed else ["s", "ms", "us", "ns"], SPANS) if len(at) else ():
            low, high = SPANS[epoch]
            if low <= at[0] * TIME_SCALES[each] < high and found.get("epoch", epoch) == epoch:
                found |= {"time_unit": each, "epoch": epoch}
                return
        found.setdefault("epoch", "none")
        found["time_unit"] = fixed or "s"

    def values(self) -> Json:
        """Choose the columns of values, what they measure, and their units. Raises GuessError."""
        found = self._found
        taken = {found.get(each) for each in ("time", "date", "index")}
        if "channels" not in found:
            names = [name for name in self._like(NUMBER, set()) if name not in taken]
            found["channels"] = self._chosen({name: self._value_unit(name) for name in names})
        units = [self._value_unit(name) for name in found["channels"]]
        if "measures" not in found:
            found["measures"] = self._measured(found["channels"], units)
        if len(found["measures"]) != len(units):
            raise GuessError("measures", f'say what each of the {len(units)} channels measures, as ["shunt", "supply"]')
        found.setdefault("units", [unit or _plain(what) for unit, what in zip(units, found["measures"], strict=True)])
        return found

    def _value_unit(self, name: str) -> str:
        unit = self._units[self.column(name)]
        words = [QUANTITIES[word] for word in _words(name) if word in QUANTITIES]
        return unit if unit in SCALES else (words[0] if words else "")

    def _chosen(self, units: dict[str, str]) -> list[str]:
        """Watts if there are any; else amperes and volts, the shunt's volts and the supply's, or joules."""
        of = {each: [name for name, unit in units.items() if unit and SCALES[unit][1] == each] for each in "WAVJ"}
        shunts = [name for name in of["V"] if "shunt" in _words(name)]
        supplies = [name for name in of["V"] if name not in shunts]
        for chosen in (of["W"], of["A"] + supplies if of["A"] else [], shunts + supplies if shunts else [], of["J"]):
            if chosen and len({SCALES[units[name]][1] + str(name in shunts) for name in chosen}) == len(chosen):
                return chosen
        raise GuessError(
            "channels", f"which columns are the power, or shunt and supply? there are: {', '.join(self._names)[:200]}"
        )

    def _measured(self, names: list[str], units: list[str]) -> list[str]:
        found = [
            Measures.SHUNT if "shunt" in _words(name) else OF_UNIT[SCALES[unit][1]] if unit else None
            for name, unit in zip(names, units, strict=True)
        ]
        usual = [Measures.SHUNT, Measures.SUPPLY]
        return [str(each or usual[place] if place < len(usual) else each) for place, each in enumerate(found)]


def _seconds(texts: Sequence[str], order: str) -> Values:
    try:
        return seconds(pa.array(texts, pa.string()), order)[0]
    except InstantError as error:  # the reader says so, with the line
        return _seconds(texts[: error.row], order)


def _plain(measures: str) -> str:
    return next((unit for unit, each in OF_UNIT.items() if each == measures), "V")


def _rate(at: Values) -> float:
    """Rows a second by their times, without gaps; rounded if that is within 0.01 %. Raises GuessError."""
    steps = np.diff(at[np.isfinite(at)])
    steps = steps[steps >= 0]
    ticks = np.flatnonzero(steps)
    if len(ticks) > CUT:
        steps = steps[ticks[0] + 1 : ticks[-1] + 1]
    ordinary = steps[steps <= ORDINARY * np.median(steps[steps > 0])] if (steps > 0).any() else steps[:0]
    if not len(ordinary):
        raise GuessError("rate", "the times do not show it: how many samples a second?")
    rate = 1 / float(ordinary.mean())
    whole = float(f"{rate:.3g}")
    return whole if abs(whole / rate - 1) < SAME else float(f"{rate:.9g}")
