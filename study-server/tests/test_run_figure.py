# SPDX-License-Identifier: GPL-2.0-or-later
"""Drawings of records: the paper's user A, a machine with many CPUs, a long run, periods without a measurement."""

import json
from typing import Any

import pytest

import records
from happe_study.base.charts import Chart, Marks, Series, Table, minutes, shortest
from happe_study.study.window import Window, window
from happe_study.web.staff.run_page.figure import charts, mean, table
from happe_study.web.staff.run_page.series import run_series

Json = dict[str, Any]
SECOND = 1_000_000


def record(lines: list[Json], seconds: int, learned: tuple[Json, ...] = ()) -> Json:
    made = records.make(seconds=1, presses=0)
    return made | {
        "started_us": 0,
        "ended_us": seconds * SECOND,
        "observations": lines,
        "learned": list(learned),
    }


def line(second: int, khz: int, *percent: int, keys: tuple[Json, ...] = ()) -> Json:
    policies = [{"id": 0, "cur_khz": khz, "util_ppm": [each * 10_000 for each in percent]}]
    return {
        "t_us": second * SECOND,
        "user": "subject:4HT2XC0N",
        "app": "torcs",
        "policies": policies,
        "keys": list(keys),
    }


def press(us: int, key: str = "performance") -> Json:
    return {"t_us": us, "key": key}


def lesson(second: int, key: str = "performance") -> Json:
    taught = {
        "policy": 0,
        "level": 3,
        "from_khz": 800_000,
        "to_khz": 1_200_000,
        "cur_khz": 800_000,
        "util_ppm": 970_000,
    }
    return {"t_us": second * SECOND, "key": key} | taught


WHOLE = Window(0, 30, 30)


def test_a_sample_is_of_the_period_that_it_ends() -> None:
    periods = run_series(record([line(1, 800_000, 50, 10), line(2, 1_200_000, 70, 20)], 2)).periods
    assert [(each.begin, each.end, each.busy["CPU 0"]) for each in periods] == [(0, 1, 50), (1, 2, 70)]
    assert [each.ghz for each in periods] == [{"policy 0": 0.8}, {"policy 0": 1.2}]

    def of_cpu_1(begin: float, end: float) -> float | None:
        return mean(periods, lambda each: each.busy, ["CPU 1"], begin, end)

    assert of_cpu_1(0.5, 1.25) == pytest.approx((0.5 * 10 + 0.25 * 20) / 0.75)
    assert of_cpu_1(2, 3) is None


def test_of_a_series_of_presses_the_first_counts_as_the_lesson_says() -> None:
    keys = (press(15_400_000), press(15_900_000), press(15_950_000, "power"))
    series = run_series(record([line(16, 800_000, 97, keys=keys), line(17, 1_200_000, 97)], 17, (lesson(16),)))
    assert [(each.at, each.key, each.counted) for each in series.presses] == [
        (15.4, "performance", True),
        (15.9, "performance", False),
        (15.95, "power", False),
    ]
    assert series.presses[0].lesson == "level 3: 0.8 to 1.2 GHz"
    marks = charts(series, WHOLE)[1].marks
    assert [(each.name, [at for at, _ghz in each.points]) for each in marks] == [
        ("faster", [15.4]),
        ("faster, not counted", [15.9]),
        ("save power, not counted", [15.95]),
    ]


def test_what_nobody_measured_is_not_drawn() -> None:
    series = run_series(record([line(1, 800_000, 50), line(10, 800_000, 60)], 10))
    assert [(each.begin, each.end) for each in series.periods] == [(0, 1), (8, 10)]
    busy = charts(series, WHOLE)[0]
    assert [round(at, 3) for at in busy.at] == [0, 1, 1, 8, 10, 10]
    assert busy.series[0].values == [50, 50, None, 60, 60, None]


def test_many_cpus_are_drawn_as_their_span_however_close_one_looks() -> None:
    series = run_series(record([line(n, 800_000, *range(10, 90, 10)) for n in range(1, 31)], 30))
    for part in (WHOLE, Window(7.2, 7.4, 30)):
        band, middle = charts(series, part)[0].series
        assert (set(band.values), set(band.high or ())) == ({10, None}, {80, None})
        assert set(middle.values) == {45, None}
        assert [cell[1] for cell in table(series, part, []).rows] == ["45"] * 24


def test_a_window_goes_no_further_than_the_run() -> None:
    whole = window("", "", 60)
    assert whole.is_whole
    assert dict(whole.ways())["Zoom out"] is None
    closer = whole.zoomed(1 / 4)
    assert (closer.begin, closer.end) == (22.5, 37.5)
    assert (closer.moved(-10).begin, closer.moved(10).end) == (0, 60)
    assert closer.zoomed(100).is_whole
    least = window("1", "1.0001", 60)
    assert dict(least.ways())["Zoom in"] is None
    assert least.zoomed(1 / 4).width == pytest.approx(least.width)


def test_a_page_carries_every_value_of_a_chart_but_not_its_table() -> None:
    series = (Series("mean", [1.123456789, None], 4, high=[2.0, None]), Series("profile", [3, 4], step=True))
    marks = (Marks("presses", "x", 6, [(5.0, 0.8)]),)
    chart = Chart("c", "A & <B>", "W", (0, 10), [0, 5], series, marks, [(2, 3)], table=Table(["at"], [["0"]]))
    content = json.loads(chart.values())
    assert content["series"][0] == {
        "name": "mean", "values": [1.1234568, None], "look": 4, "high": [2.0, None], "step": False,
    }  # fmt: skip
    assert (content["at"], content["span"], content["gaps"]) == ([0, 5], [0, 10], [[2, 3]])
    assert content["marks"] == [{"name": "presses", "sign": "x", "look": 6, "points": [[5.0, 0.8]]}]
    assert "table" not in content


def test_times_and_frequencies_are_written_one_way() -> None:
    assert [minutes(seconds) for seconds in (0, 59.6, 61, 7230)] == ["0:00", "1:00", "1:01", "2:00:30"]
    assert [shortest(ghz) for ghz in (0.8, 2.0, 2.201)] == ["0.8", "2", "2.201"]
