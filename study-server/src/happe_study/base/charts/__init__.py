# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts as SVG in the page, drawn by the server: no script, no inline style, readable from a phone to a wide screen.

    chart = Chart("power", "Power", seconds(0, 240), numbers(0, 30, "W"), (Step(points, "look-1", "mean"),))
    {% import "charts/_charts.html" as charts %} ... {{ charts.figure(chart) }}

A page with a chart links to static/charts.css. Where scripts run, static/charts.js draws the same chart with uPlot,
from the JSON of `values` beside it. This package imports neither studies nor requests nor numpy.
"""

from happe_study.base.charts.axes import Axis, Tick, categories, ladder, moments, numbers, seconds
from happe_study.base.charts.drawing import Chart, Table, drawn, swatch, values
from happe_study.base.charts.layers import Band, Cell, Cells, Line, Mark, Marks, Spans, Step

__all__ = [
    "Axis",
    "Band",
    "Cell",
    "Cells",
    "Chart",
    "Line",
    "Mark",
    "Marks",
    "Spans",
    "Step",
    "Table",
    "Tick",
    "categories",
    "drawn",
    "ladder",
    "moments",
    "numbers",
    "seconds",
    "swatch",
    "values",
]
