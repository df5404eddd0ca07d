# SPDX-License-Identifier: GPL-2.0-or-later
"""Files as programs of the field write them, with one truth and the faults that people reported, made by this script.

A laptop takes 20 to 22 W for 3 s from 2026-11-28 07:00 UTC, sampled a hundred times a second.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

ROWS, RATE = 300, 100
WATTS = 20 + np.arange(ROWS) % 101 / 50
TRUTH = {"power": WATTS, "current": WATTS / 20, "supply": np.full(ROWS, 20.0), "shunt": WATTS / 200}
TRUTH["energy"] = np.cumsum(WATTS) / RATE
BEGAN = datetime(2026, 11, 28, 7, tzinfo=UTC)
File = tuple[str, "str | bytes", dict[str, Any]]  # its name, its content, and the options that a person gives
Written = Callable[[int], object]


def iso(row: int, zone: ZoneInfo | None = None, began: datetime = BEGAN, step_s: float = 1 / RATE) -> str:
    """Return a row's time without a zone's name."""
    moment = (began + timedelta(seconds=row * step_s)).astimezone(zone or UTC)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="milliseconds")


def told(pattern: str) -> Written:
    """Return a writer of times by strftime; %f has three digits."""
    return lambda row: (BEGAN + timedelta(seconds=row / RATE)).strftime(pattern.replace("%f", f"{row % RATE * 10:03}"))


def since(factor: int, earlier_s: int = 0) -> Written:
    """Return a writer of times since 1970, or so much earlier, as numbers."""
    return lambda row: f"{(BEGAN.timestamp() + earlier_s + row / RATE) * factor:.3f}"


def elapsed(row: int) -> str:
    """Return the seconds since the first row."""
    return f"{row / RATE:.2f}"


def text(head: str, *columns: Written, by: str = ",", decimal: str = ".", end: str = "\n", rows: object = None) -> str:
    """Return a file with these columns below the lines of `head`."""
    kept = range(ROWS) if rows is None else rows
    made = [by.join(str(each(row)).replace(".", decimal) for each in columns) for row in kept]  # type: ignore[attr-defined]
    return "".join(f"{line}{end}" for line in ([*head.split("\n")] if head else []) + made)


def of(name: str, scale: float = 1.0, digits: int = 6) -> Written:
    """Return a writer of a quantity's values."""
    return lambda row: f"{TRUTH[name][row] * scale:.{digits}f}"


def but(values: dict[int, str]) -> Written:
    """Return a writer of watts, with other words in some rows."""
    return lambda row: values.get(row) or of("power")(row)


W = of("power")
TIMED = "time_s,power_W"


def leap(row: int) -> str:
    """Return a time of the night with the latest leap second, which comes after 50 rows."""
    later = row / RATE - 2.5
    return f"2017-01-01T00:00:{later:05.2f}Z" if later >= 0 else f"2016-12-31T23:59:{later + 61:05.2f}Z"


def dialects() -> Iterator[File]:
    """Yield one content in the ways to write it."""
    yield "commas", text(TIMED, elapsed, W), {}
    yield "semicolons, decimal commas", text("time_s;power_W", elapsed, W, by=";", decimal=","), {}
    yield "tabs", text("time_s\tpower_W", elapsed, W, by="\t"), {}
    yield "tabs, decimal commas", text("Zeit (s)\tLeistung (W)", elapsed, W, by="\t", decimal=","), {}
    yield "bars", text("time_s|power_W", elapsed, W, by="|"), {}
    yield "quoted values", text('"time_s","power_W"', *(lambda row, by=by: f'"{by(row)}"' for by in (elapsed, W))), {}
    single = [lambda row, by=by: f"'{by(row)}'" for by in (elapsed, W)]
    yield "single quotes", text("'time_s';'power_W'", *single, by=";"), {}
    yield "a comma after each row", text(TIMED, elapsed, W, lambda _: ""), {}
    yield "a name with a comma", text('time_s,"power, total (W)"', elapsed, W), {}
    yield "a preamble", text(f"Made by X\n\nOperator: A. B.\n{TIMED}", elapsed, W), {}
    yield "a preamble of pairs", text(f"Sample rate,100\nChannels,1\n{TIMED},n", elapsed, W, lambda row: row), {}
    yield "a line of units", text("time,power\ns,W", elapsed, W), {}
    campbell = '"TOA5","x","CR6"\n"TIMESTAMP","RECORD","P"\n"TS","RN","W"\n"","","Smp"'
    yield "a Campbell TOA5", text(campbell, lambda row: f'"{iso(row)}"', lambda row: row, W), {}
    yield "lines end in CR LF", text(TIMED, elapsed, W, end="\r\n"), {}
    yield "a column of words", text(f"{TIMED},note", elapsed, W, lambda _: "it is so"), {}
    yield "no names", text("", elapsed, W), {}
    yield "no names, columns given", text("", elapsed, W), {"time": "1", "channels": ["2"], "measures": ["power"]}
    yield "UTF-8 with a mark", text(TIMED, elapsed, W).encode("utf-8-sig"), {}
    yield "UTF-16", text(TIMED, elapsed, W).encode("utf-16"), {}
    yield "UTF-16 without a mark", text(TIMED, elapsed, W).encode("utf-16-le"), {}
    micro = text("time (s),current (µA),U (V)", elapsed, of("current", 1e6), of("supply"))
    yield "Windows-1252", micro.encode("cp1252"), {}


def units() -> Iterator[File]:
    """Yield quantities and their units."""
    yield "milliwatts", text("time_s,P (mW)", elapsed, of("power", 1e3)), {}
    yield "kilowatts", text("time_s,P [kW]", elapsed, of("power", 1e-3, 9)), {}
    yield "milliwatts, called watts", text(TIMED, elapsed, of("power", 1e3)), {}
    yield "microamperes", text("time_s,current_uA,voltage_V", elapsed, of("current", 1e6), of("supply")), {}
    yield "shunt and supply", text("time_s,shunt_mV,supply_V", elapsed, of("shunt", 1e3), of("supply")), {}
    yield "watt hours", text("time_s,energy (mWh)", elapsed, of("energy", 1 / 3.6, 9)), {}
    yield "two powers", text("time_s,cpu_W,system_W", elapsed, W, W), {}
    yield "amperes measured as watts", text("time_s,I (A)", elapsed, of("current")), {"measures": ["power"]}


def times() -> Iterator[File]:
    """Yield ways to write times."""
    ms = lambda row: row * 10  # noqa: E731 - a writer
    yield "milliseconds by name", text("time (ms),power_W", ms, W), {}
    yield "milliseconds without a word", text("time,power_W", ms, W), {}
    yield "milliseconds without a word, rate given", text("time,power_W", ms, W), {"rate": 100}
    yield "microseconds", text("time_us,power_W", lambda row: row * 10_000, W), {}
    for unit, factor in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items():
        yield f"since 1970 in {unit}", text("time,power_W", since(factor), W), {}
    yield "since 1904 (LabVIEW)", text("time,power_W", since(1, 2_082_844_800), W), {}
    yield "ISO 8601", text("time,power_W", told("%Y-%m-%dT%H:%M:%S.%fZ"), W), {}
    delhi = ZoneInfo("Asia/Kolkata")
    yield "ISO 8601, another zone", text("time,power_W", lambda row: f"{iso(row, delhi)}+05:30", W), {}
    yield "ISO 8601 without a zone", text("time,power_W", iso, W), {}
    berlin = {"zone": "Europe/Berlin"}
    yield "the same, zone given", text("time,power_W", lambda row: iso(row, ZoneInfo("Europe/Berlin")), W), berlin
    yield "US dates", text("time,power_W", told("%m/%d/%Y %I:%M:%S.%f %p"), W), {}
    yield "German dates", text("Zeit;Leistung (W)", told("%d.%m.%Y %H:%M:%S,%f"), W, by=";"), {}
    west = lambda row: f"28.11.2026 03:30:{row / RATE:06.3f} -03:30"  # noqa: E731 - a writer
    yield "German dates, another zone", text("time,power_W", west, W), {}
    east = lambda row: f"11/28/2026 12:30:{row / RATE:06.3f} PM +05:30"  # noqa: E731 - a writer
    yield "US dates after noon, another zone", text("time,power_W", east, W), {}
    early = lambda row: f"11/5/2026 07:00:{row / RATE:06.3f}"  # noqa: E731 - a writer
    yield "a date to read twice", text("time,power_W", early, W), {}
    yield "a date to read twice, order given", text("time,power_W", early, W), {"dates": "mdy"}
    yield "day and time apart", text("Date,Time,Power (W)", told("%m/%d/%Y"), told("%H:%M:%S.%f"), W), {}
    yield "no day", text("time,power_W", told("%H:%M:%S.%f"), W), {}
    yield "no times", text("power_W", W), {}
    yield "no times, rate given", text("power_W", W), {"rate": 100}
    yield "numbers of samples", text("sample,power_W", lambda row: row + 7, W), {"rate": 100}
    yield "a clock of 50 ms", text(TIMED, lambda row: f"{row // 5 * 5 / RATE:.2f}", W), {}


def faults() -> Iterator[File]:
    """Yield what is wrong, or looks so."""
    for name, words in {
        "SCPI's codes": {7: "9.9E37", 8: "-9.900000E+37", 100: "9.91E37"},
        "OVLD": {7: "OVLD", 200: "-OL"},
        "NaN and inf": {7: "NaN", 100: "inf", 200: "-inf"},
        "an empty value": {7: " "},
        "an unreadable value": {7: "12.5.3"},
    }.items():
        yield name, text(TIMED, elapsed, but(words)), {}
    yield "beyond the range", text(TIMED, elapsed, W), {"range": [21.99]}
    yield "50 rows are missing", text(TIMED, elapsed, W, rows=[*range(100), *range(150, ROWS)]), {}
    years = text("time,power_W", lambda row: iso(row, began=BEGAN - timedelta(days=9 * (row in range(5)))), W)
    yield "the clock was set", years, {}
    yield "the clock went back", text(TIMED, lambda row: f"{row / RATE - (row in range(100, ROWS)) / 2:.2f}", W), {}
    yield "two acquisitions", text(TIMED, elapsed, W) + text(TIMED, elapsed, W), {}
    berlin, zone = ZoneInfo("Europe/Berlin"), {"zone": "Europe/Berlin"}
    for season, month, day in (("autumn", 10, 24), ("spring", 3, 28)):
        began = datetime(2026, month, day, 23, 30, tzinfo=UTC)
        local = [iso(row, berlin, began, 30) for row in range(ROWS)]
        made = text("time,power_W", local.__getitem__, W)
        yield f"a night of {season}", made, {}
        yield f"a night of {season}, zone given", made, zone
    night = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    yield "begins in the hour that comes twice", text("time,power_W", lambda row: iso(row, berlin, night), W), zone
    lacks = datetime(2026, 3, 29, 2, 30, tzinfo=UTC)
    yield "an hour that spring lacks", text("time,power_W", lambda row: iso(row, began=lacks), W), zone
    yield "a leap second", text("time,power_W", leap, W), {}
    yield "the future", text("time,power_W", lambda row: f"{iso(row, began=BEGAN + timedelta(days=400))}Z", W), {}
    yield "some times with a zone", text("time,power_W", lambda row: iso(row) + "Z" * (row in range(10, ROWS)), W), {}
    yield "cut off", text(TIMED, elapsed, W)[:-12], {}
    yield "no rows", f"{TIMED}\n", {}
    yield "an empty file", "", {}
    yield "a picture", bytes(range(256)) * 40, {}


def files() -> list[File]:
    """Return all files."""
    return [*dialects(), *units(), *times(), *faults()]
