# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts: the places of ticks and shapes. No chart needs an inline style or a script."""

from __future__ import annotations

import json
import math
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_study.base.charts import (
    Axis,
    Band,
    Cell,
    Cells,
    Chart,
    Line,
    Mark,
    Marks,
    Spans,
    Step,
    categories,
    drawn,
    ladder,
    moments,
    numbers,
    seconds,
    swatch,
    values,
)
from happe_study.base.charts.axes import MOST_TICKS, plain

X, Y = numbers(0, 10), numbers(0, 100)
SVG = "{http://www.w3.org/2000/svg}"


def words(axis: Axis) -> list[str]:
    return [tick.text for tick in axis.ticks]


def element(chart: Chart) -> ET.Element:
    text = str(drawn(chart)).replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return ET.fromstring(text)  # noqa: S314 - we made it


def test_ticks_stand_at_round_values() -> None:
    assert words(numbers(0, 30, about=3)) == ["0", "10", "20", "30"]
    assert words(numbers(-1, 1)) == ["\N{MINUS SIGN}1.0", "\N{MINUS SIGN}0.5", "0.0", "0.5", "1.0"]
    assert words(numbers(800_000, 2_300_000, about=3))[0] == "1\N{NARROW NO-BREAK SPACE}000\N{NARROW NO-BREAK SPACE}000"
    assert words(seconds(0, 240, about=8)) == ["0:00", "0:30", "1:00", "1:30", "2:00", "2:30", "3:00", "3:30", "4:00"]
    assert words(seconds(7170, 7230, about=4)) == ["1:59:30", "1:59:45", "2:00:00", "2:00:15", "2:00:30"]
    assert words(seconds(16.0, 16.001, about=2)) == ["16.0000 s", "16.0005 s", "16.0010 s"]
    day = 86_400_000_000
    assert words(moments(day, 3 * day, about=2)) == ["1970-01-02", "1970-01-03", "1970-01-04"]
    assert words(moments(0, 3_600_000_000, about=2)) == ["00:00", "00:30", "01:00"]
    assert [tick.at for tick in categories(["a", "b"]).ticks] == [0.5, 1.5]


@given(st.floats(-1e8, 1e8), st.floats(1e-5, 1e6), st.integers(1, 20), st.sampled_from([numbers, seconds]))
def test_ticks_of_any_axis_ascend_within_it(spans: float, span: float, about: int, make: type) -> None:
    low = spans * span
    axis = make(low, low + span, "", about)
    at = [tick.at for tick in axis.ticks]
    assert at == sorted(set(at))
    assert len(at) <= MOST_TICKS + 1
    assert all(low - span * 1e-3 <= value <= low + span * (1 + 1e-3) for value in at)


def test_an_axis_without_extent_is_refused() -> None:
    for low, high in ((1.0, 1.0), (2.0, 1.0), (0.0, math.nan), (0.0, math.inf)):
        with pytest.raises(ValueError, match="an axis from"):
            Axis(low, high)


def test_the_steps_of_a_ladder_are_equally_far_apart_and_each_has_its_tick() -> None:
    axis = ladder([0.8, 1.2, 1.6, 2.2, 2.201], "GHz")
    assert words(axis) == ["0.8", "1.2", "1.6", "2.2", "2.201"]
    assert [axis.share(tick.at) for tick in axis.ticks] == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert axis.share(1.0) == pytest.approx(0.2), "linear between two steps"
    assert (axis.share(0.0), axis.share(9.0)) == (0.0, 1.0)
    assert 0 < ladder([2.0]).share(2.0) < 1, "a ladder of one step has room above and below"


def test_a_ladder_of_many_steps_is_linear_and_its_ticks_are_steps() -> None:
    steps = [0.8 + 0.1 * number for number in range(40)]
    axis = ladder(steps)
    assert axis.share(steps[20]) == pytest.approx((steps[20] - axis.low) / (axis.high - axis.low))
    assert len(axis.ticks) == 10
    assert {tick.at for tick in axis.ticks} <= set(steps)
    assert axis.ticks[-1].at == steps[-1]


def test_what_a_script_draws_has_the_values_of_the_drawing() -> None:
    layers = (
        Step([(0, 10), (5, 20)], "look-1", "busy", until=10),
        Band([(0, 1, 2), None, (1, 3, 4)], "look-4"),
        Spans([(2, 3)], "gap"),
        Marks([Mark(5, 25, "here")], "look-6", "presses", "up"),
    )
    content = json.loads(values(Chart("c", "C", X, ladder([10, 20]), layers)))
    assert [layer["kind"] for layer in content["layers"]] == ["step", "band", "spans", "marks"]
    assert content["layers"][0]["points"] == [[0, 10], [5, 20], [10, 20]], "until its end"
    assert content["layers"][0]["aside"] == 0
    assert content["layers"][1]["points"] == [[0, 1, 2], None, [1, 3, 4]]
    assert content["layers"][3]["marks"] == [[5, 25, "here"]]
    assert [tick[1] for tick in content["y"]["ticks"]] == [0.25, 0.75]
    assert values(Chart("c", "C", X, Y, (Cells([Cell(0, 0, 1)]),))) == "", "a heat map stays as the server draws it"


def test_zero_has_no_minus() -> None:
    assert plain(-0.0001, 0.1) == "0.0"


def test_a_line_ends_at_a_gap_and_begins_anew_after_it() -> None:
    chart = Chart("c", "C", X, Y, (Line([(0, 0), (5, 50), None, (10, 100)], "look-1"),))
    assert 'd="M0 10000L5000 5000M10000 0"' in drawn(chart)


def test_a_step_holds_until_the_next_point_and_to_its_end() -> None:
    chart = Chart("c", "C", X, Y, (Step([(0, 0), (5, 50)], "look-1", until=10),))
    assert 'd="M0 10000H5000V5000H10000"' in drawn(chart)


def test_a_step_that_lies_aside_keeps_its_values() -> None:
    step = Step([(0, 0), (5, 50)], "look-1", until=10, aside=0.02)
    chart = Chart("c", "C", X, Y, (step,))
    assert 'd="M0 9800H5000V4800H10000"' in drawn(chart)
    assert json.loads(values(chart))["layers"][0]["points"] == [[0, 0], [5, 50], [10, 50]]


def test_a_band_goes_there_along_its_top_and_back_along_its_foot() -> None:
    chart = Chart("c", "C", X, Y, (Band([(0, 10, 20), (10, 30, 40)], "look-1"),))
    assert 'd="M0 8000L10000 6000L10000 7000L0 9000Z"' in drawn(chart)


def test_marks_and_cells_stand_at_their_share_of_the_room() -> None:
    marks = Marks([Mark(5, 25, "here"), Mark(11, 0)], "look-2", "presses", "up")
    cells = Cells([Cell(0, 0, 0.52, "52", "a cell"), Cell(9, 99, None)])
    svg = element(Chart("c", "C", X, Y, (marks, cells)))
    found = [each for each in svg.iter(f"{SVG}svg") if "mark" in each.get("class", "")]
    assert [(each.get("x"), each.get("y")) for each in found] == [("50%", "75%")], "one beyond the axis is not drawn"
    groups = [each.get("class") for each in svg.iter(f"{SVG}g")]
    assert groups == ["cell heat heat-5", "cell heat no-heat"]


def test_spans_are_cut_at_the_axis_and_never_too_narrow_to_see() -> None:
    svg = element(Chart("c", "C", X, Y, (Spans([(-5, 1), (4, 4.0001), (20, 30)], "gap"),)))
    assert [(r.get("x"), r.get("width")) for r in svg.iter(f"{SVG}rect")] == [("0%", "10%"), ("40%", "0.2%")]


def test_a_chart_is_named_escaped_and_without_inline_style() -> None:
    layers = (
        Line([(0, 0)], "look-1", "<a>"),
        Marks([Mark(1, 1, '"<b>')], "look-1", "m"),
        Cells([Cell(0, 0, 1, "<i>")]),
        Spans([(0, 1)], "gap", "lost"),
    )
    chart = Chart("key", "A & <B>", X, Y, layers, "More <about> it")
    svg = element(chart)
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == "key-title key-about"
    assert [svg[0].text, svg[1].text] == ["A & <B>", "More <about> it"]
    text = drawn(chart) + "".join(swatch(layer) for layer in layers)
    assert not re.search(r"\bstyle=|\bon\w+=|<script|href=|url\(", text)
    assert [layer.name for layer in chart.legend] == ["<a>", "m", "lost"]
