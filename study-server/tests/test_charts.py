# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts: what the script that draws them gets, and numbers in words."""

from __future__ import annotations

import json

from happe_study.base.charts import Chart, Marks, Series, Table, minutes, shortest


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
