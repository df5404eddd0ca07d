# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws a curve as a picture (matplotlib) or in a terminal (plotext)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_cli.errors import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from happe_power.viewing.curves import Curve

MISSING = "`pip install 'happe-power-logger[show]'` gets it"
INCHES, DPI = (9.6, 4.2), 100
COLOURS = {
    "light": {"back": "#ffffff", "ink": "#1f2328", "grid": "#d8dee4", "curve": "#0b5cad", "gap": "#b35900"},
    "dark": {"back": "#0d1117", "ink": "#e6edf3", "grid": "#30363d", "curve": "#6cb6ff", "gap": "#f0883e"},
}
LIGHT, DARK, PLAIN = THEMES = ("default", "dark", "colorless")  # of plotext
UNITS = {"W": "power in W", "V": "voltage at the instrument's input in V", "A": "current in A", "J": "energy in J"}


def save(curve: Curve, title: str, path: Path, *, dark: bool) -> None:
    """Draw a curve into a new PNG file. Raises FileExistsError, OSError, Failure without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - takes half a second
        from matplotlib.figure import Figure  # noqa: PLC0415 - the same
    except ImportError:
        raise Failure(os.EX_UNAVAILABLE, f"a picture needs matplotlib; {MISSING}") from None
    colours = COLOURS["dark" if dark else "light"]
    figure = Figure(figsize=INCHES, dpi=DPI, facecolor=colours["back"], layout="constrained")
    FigureCanvasAgg(figure)
    _draw(figure.add_subplot(), curve, title, colours)
    with path.open("xb") as file:
        figure.savefig(file, format="png", metadata={"Software": "happe-power"})


def _draw(axes: Any, curve: Curve, title: str, colours: dict[str, str]) -> None:  # noqa: ANN401 - matplotlib's Axes
    axes.set_facecolor(colours["back"])
    seconds, lowest, mean, highest = broken(curve)
    axes.fill_between(seconds, lowest, highest, color=colours["curve"], alpha=0.25, linewidth=0)
    axes.plot(seconds, mean, color=colours["curve"], linewidth=1.2)
    for begin, end, _reason in curve.gaps:
        axes.axvspan(begin, end, color=colours["gap"], alpha=0.25, linewidth=0)
    axes.set_title("\n".join([title, *curve.notes]), color=colours["ink"], fontsize=10, loc="left")
    axes.set_xlabel(f"seconds since the first sample\n{curve.caption}", color=colours["ink"])
    axes.set_ylabel(UNITS.get(curve.unit, curve.unit), color=colours["ink"])
    axes.tick_params(colors=colours["ink"])
    axes.grid(color=colours["grid"], linewidth=0.6)
    axes.margins(x=0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(colours["grid"])


def terminal(curve: Curve, title: str, size: tuple[int, int], theme: str) -> str:
    """Draw a curve in columns and rows of characters, in one of THEMES: its mean as a line, its extremes as dots.

    Raises Failure without plotext.
    """
    try:
        import plotext  # noqa: PLC0415 - an extra
    except ImportError:
        raise Failure(os.EX_UNAVAILABLE, f"a plot in the terminal needs plotext; {MISSING}") from None
    figure = plotext.figure
    figure.clear()
    figure.plot_size(*size)
    figure.theme(theme)
    for values in (curve.lowest, curve.highest, curve.mean):
        good = np.isfinite(values)
        signal = figure.signal(curve.seconds[good].tolist(), values[good].tolist(), marker="braille")
        if values is curve.mean:
            signal.lines()
            for index in _after_gaps(curve, curve.seconds[good]):
                signal.line(index, active=False)
        figure.draw(signal)
    figure.title(title)
    figure.label("s", axis="x")
    figure.label(curve.unit, axis="y")
    text = str(figure.build())
    return str(plotext.uncolorize(text)) if theme == PLAIN else text


def _after_gaps(curve: Curve, seconds: Any) -> list[int]:  # noqa: ANN401 - an array
    """The positions of the first points after gaps."""
    return [int(at) for at in np.searchsorted(seconds, [begin for begin, _end, _reason in curve.gaps])]


def broken(curve: Curve) -> tuple[Any, ...]:
    """The curve's seconds, lowest, mean and highest, with a NaN at each gap, which interrupts the drawn line."""
    at = np.searchsorted(curve.seconds, [begin for begin, _end, _reason in curve.gaps])
    return tuple(np.insert(each, at, np.nan) for each in (curve.seconds, curve.lowest, curve.mean, curve.highest))
