# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads columns of instants as other programs write them, and converts a zone's local times to UTC. Pure."""

import datetime as dt
import re
from collections.abc import Callable
from contextlib import suppress
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]

DATES = {
    "ymd": r"(?P<y>\d{4})[-/.]?(?P<m>\d{1,2})[-/.]?(?P<d>\d{1,2})",
    "dmy": r"(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4})",
    "mdy": r"(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.](?P<y>\d{4})",
}
TIME = r"(?P<H>\d{1,2}):?(?P<M>\d{2})(?::?(?P<S>\d{2})(?:[.,:](?P<f>\d{1,9})\d*)?)?"
ZONE = r" ?(?P<half>[AaPp][Mm])? ?(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})?"
ENDS_IN_ZONE = re.compile(r"(Z|[+-]\d{2}:?\d{2})$")
QUARTER_S = 900  # zones change at whole quarters of an hour
TWELVE, SIXTY = 12, 60  # months, hours of half a day; minutes, seconds


class InstantError(ValueError):
    """A row's time cannot be. `row` is its place."""

    def __init__(self, row: int, why: str) -> None:
        """Take the place from 0, and the reason."""
        super().__init__(why)
        self.row = row


def pattern(order: str) -> str:
    """The regular expression of instants with this order of day, month and year."""
    return rf"^{DATES[order]}(?:(?:T|,? +){TIME}{ZONE})?$"


def seconds(texts: pa.Array, order: str) -> tuple[Values, Mask]:
    """Seconds since 1970 by each text's own zone or by none, and which texts name a zone. NaN: no instant.

    Raises InstantError at a leap second.
    """
    if order == "ymd" and len(texts):
        zone = "UTC" if ENDS_IN_ZONE.search(texts[0].as_py()) else None
        with suppress(pa.ArrowInvalid):  # a hundred times as fast
            nanos = texts.cast(pa.timestamp("ns", zone)).cast(pa.int64()).to_numpy()
            return nanos / 1e9, np.full(len(texts), zone is not None)
    found = pc.extract_regex(pc.utf8_trim_whitespace(texts), pattern(order))
    good = found.is_valid().to_numpy(zero_copy_only=False)

    def part(name: str, empty: str = "0") -> NDArray[np.int64]:
        words = pc.fill_null(pc.struct_field(found, name), "")
        whole: NDArray[np.int64] = pc.if_else(pc.equal(words, ""), empty, words).cast(pa.int64()).to_numpy()
        return whole

    month, hour, minute, second = part("m", "1"), part("H"), part("M"), part("S")
    if len(leap := np.flatnonzero(good & (second == SIXTY))):
        raise InstantError(int(leap[0]), "a leap second: import what is before it and what is after it by themselves")
    halves, hours = _of_words(pc.struct_field(found, "half"), lambda word: "AP".find(word[:1].upper()))
    good &= ~halves | ((hour >= 1) & (hour <= TWELVE))
    hour = np.where(halves, hour % TWELVE + TWELVE * hours, hour)
    months = (part("y", "1970") - 1970) * TWELVE + month - 1
    days = months.astype("M8[M]").astype("M8[D]") + (part("d", "1") - 1)
    good &= (month >= 1) & (month <= TWELVE) & (days.astype("M8[M]") == months.astype("M8[M]"))
    good &= (hour < 2 * TWELVE) & (minute < SIXTY) & (second < SIXTY)
    digits = pc.fill_null(pc.struct_field(found, "f"), "")
    parts = pc.utf8_rpad(digits, 9, "0").cast(pa.int64()).to_numpy() / 1e9
    aware, east = _of_words(pc.struct_field(found, "zone"), _east_s)
    whole = days.astype(np.int64) * 86400 + hour * 3600 + minute * 60 + second - east
    return np.where(good, whole + parts, np.nan), aware & good


def _of_words(words: pa.Array, number: Callable[[str], int]) -> tuple[Mask, NDArray[np.int64]]:
    """Which of a few different words are not empty, and the number of each."""
    coded = pc.fill_null(words, "").dictionary_encode()
    known = coded.dictionary.to_pylist()
    places = coded.indices.to_numpy()
    there = np.array([bool(word) for word in known], bool)
    numbers = np.array([number(word) if word else 0 for word in known], np.int64)
    return there[places], numbers[places]


def _east_s(zone: str) -> int:
    if not zone[-1].isdigit():
        return 0
    return (-1 if zone[0] == "-" else 1) * (3600 * int(zone[1:3]) + 60 * int(zone[-2:]))


class Local:
    """Converts a zone's local times, in the order of a file, to UTC. It knows the hours that a day lacks or repeats."""

    def __init__(self, zone: ZoneInfo) -> None:
        """Begin a file."""
        self._zone = zone
        self._last = -np.inf
        self._again = False  # in an hour that comes twice, the second time

    def utc(self, local: Values) -> Values:
        """Seconds since 1970 of the next rows. Raises InstantError."""
        quarters, places = np.unique(local // QUARTER_S, return_inverse=True)
        first, second = (np.array([self._east_s(each, fold) for each in quarters])[places] for fold in (0, 1))
        if len(never := np.flatnonzero(first < second)):
            raise InstantError(int(never[0]), f"{self._zone.key} has no such time on this day")
        twice = first > second
        if len(twice) and twice[0] and np.isinf(self._last):
            raise InstantError(0, f"{self._zone.key} has this time twice on this day: give the times in UTC")
        back = twice & (np.diff(local, prepend=self._last) < 0)
        again = twice & ((np.cumsum(back) > 0) | self._again)
        if len(local):
            self._last, self._again = float(local[-1]), bool(again[-1])
        return local - np.where(again, second, first)

    def _east_s(self, quarter: float, fold: int) -> float:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=quarter * QUARTER_S)  # noqa: DTZ001 - local
        offset = moment.replace(tzinfo=self._zone, fold=fold).utcoffset()
        return offset.total_seconds() if offset else 0.0
