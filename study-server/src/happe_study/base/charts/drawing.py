# SPDX-License-Identifier: GPL-2.0-or-later
"""A chart as SVG. Pure.

The outer SVG element fills the page's width and has no viewBox, so text keeps its size on every screen. The labels of
the axes stand outside it, where static/charts.css leaves room. An inner SVG element holds the paths: it stretches them,
but not the width of their strokes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from happe_study.base.charts.layers import SHAPES, STRETCHED, Band, Cells, Line, Marks, Spans, Step, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.base.charts.axes import Axis, Tick

Layer = Line | Step | Band | Spans | Marks | Cells


@dataclass(frozen=True)
class Table:
    """The content of a chart as a table, for people who cannot see the chart."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Chart:
    """Layers on two axes. `key`: its id in the page. Screen readers say `title` and `description`. `height`: pixels."""

    key: str
    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    description: str = ""
    height: int = 140
    table: Table | None = None
    shows_x: bool = True  # False where a chart below has the same x axis
    look: str = ""  # a class of the figure

    @property
    def legend(self) -> list[Layer]:
        """The layers that have a name."""
        return [layer for layer in self.layers if layer.name]


def drawn(chart: Chart) -> Markup:
    """A chart's SVG element."""
    spans = [layer for layer in chart.layers if isinstance(layer, Spans)]
    paths = [layer for layer in chart.layers if isinstance(layer, Line | Step | Band)]
    marks = [layer for layer in chart.layers if isinstance(layer, Marks | Cells)]
    inside = Markup().join(
        [
            Markup().join(layer.shapes(chart.x, chart.y) for layer in spans),
            _grid(chart),
            _stretched(Markup().join(layer.paths(chart.x, chart.y) for layer in paths)),
            Markup().join(layer.shapes(chart.x, chart.y) for layer in marks),
        ]
    )
    return Markup(
        '<svg class="plot" role="img" aria-labelledby="{0}-title {0}-about" width="100%" height="{1}">'
        '<title id="{0}-title">{2}</title><desc id="{0}-about">{3}</desc>{4}</svg>'
    ).format(chart.key, chart.height, chart.title, chart.description, inside)


def values(chart: Chart) -> str:
    """A chart's axes and values as JSON, for static/charts.js. A heat map has none, because its cells contain words."""
    layers = [layer for layer in chart.layers if not isinstance(layer, Cells)]
    if len(layers) < len(chart.layers):
        return ""
    content = {
        "key": chart.key,
        "title": chart.title,
        "about": chart.description,
        "height": chart.height,
        "showsX": chart.shows_x,
        "x": _axis(chart.x),
        "y": _axis(chart.y),
        "layers": [{"kind": type(layer).__name__.lower(), **layer.values()} for layer in layers],
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _axis(axis: Axis) -> dict[str, Any]:
    """An axis for static/charts.js. Each tick is [value, share of the axis, label, whether it is minor]."""
    ticks = [[tick.at, round(axis.share(tick.at), 6), tick.text, tick.minor] for tick in axis.ticks]
    about = {"low": axis.low, "high": axis.high, "title": axis.title, "kind": axis.kind}
    return {**about, "ticks": ticks, "steps": axis.steps}


def swatch(layer: Layer) -> Markup:
    """A small sample of a layer, for the legend."""
    if isinstance(layer, Marks):
        sign = f'<path d="{SHAPES[layer.shape]}"/>'
        inside = f'<svg class="mark {layer.look} {layer.shape}" x="50%" y="50%">{sign}</svg>'
    elif isinstance(layer, Line | Step):
        inside = f'<path class="line {layer.look}" d="M0 7H24"/>'
    elif isinstance(layer, Band):
        inside = f'<path class="band {layer.look}" d="M0 3H24V11H0Z"/>'
    else:
        inside = f'<rect class="span {layer.look}" width="24" height="14"/>'
    box = f'<svg class="swatch" width="24" height="14" aria-hidden="true">{inside}</svg>'
    return Markup(box)  # noqa: S704 - no user's text is in it


def _stretched(paths: Markup) -> Markup:
    box = Markup(
        '<svg class="data" width="100%" height="100%" viewBox="0 0 {0} {0}" preserveAspectRatio="none">{1}</svg>'
    )
    return box.format(STRETCHED, paths) if paths else Markup()


def _grid(chart: Chart) -> Markup:
    across = "".join(_x_tick(chart, tick) for tick in chart.x.ticks)
    up = "".join(_y_tick(chart, tick) for tick in chart.y.ticks)
    return Markup(across + up)  # noqa: S704 - words are escaped


def _x_tick(chart: Chart, tick: Tick) -> str:
    at, minor = percent(chart.x.share(tick.at)), " minor" if tick.minor else ""
    line = f'<line class="grid x{minor}" x1="{at}" x2="{at}" y2="100%"/>'
    text = f'<text class="tick x{minor}" x="{at}" y="100%" dy="1.4em">{escape(tick.text)}</text>'
    return line + text if chart.shows_x else line


def _y_tick(chart: Chart, tick: Tick) -> str:
    at = percent(1 - chart.y.share(tick.at))
    line = f'<line class="grid y" x2="100%" y1="{at}" y2="{at}"/>'
    return f'{line}<text class="tick y" y="{at}" dx="-8" dy="0.32em">{escape(tick.text)}</text>'
