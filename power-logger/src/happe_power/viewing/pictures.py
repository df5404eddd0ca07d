# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws a curve as a picture, with matplotlib."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_cli.errors import Failure

if TYPE_CHECKING:
    from pathlib import Path

    from happe_power.viewing.curves import Curve

MISSING = "a picture needs matplotlib; `pip install 'happe-power-logger[show]'` gets it"
INCHES, DPI = (9.6, 4.2), 100
CURVE, GAP = "#0b5cad", "#b35900"
UNITS = {"W": "power in W", "V": "voltage at the instrument's input in V", "A": "current in A", "J": "energy in J"}


def save(curve: Curve, title: str, path: Path, form: str) -> None:
    """Draw a curve into a new file of a format of matplotlib. Raises FileExistsError, OSError, Failure without it."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - takes half a second
    except ImportError:
        raise Failure(os.EX_UNAVAILABLE, MISSING) from None
    figure = Figure(figsize=INCHES, dpi=DPI, layout="constrained")
    _draw(figure.add_subplot(), curve, title)
    with path.open("xb") as file:
        figure.savefig(file, format=form)


def _draw(axes: Any, curve: Curve, title: str) -> None:  # noqa: ANN401 - matplotlib's Axes
    seconds, lowest, mean, highest = broken(curve)
    axes.fill_between(seconds, lowest, highest, color=CURVE, alpha=0.25, linewidth=0)
    axes.plot(seconds, mean, color=CURVE, linewidth=1.2)
    for begin, end, _reason in curve.gaps:
        axes.axvspan(begin, end, color=GAP, alpha=0.25, linewidth=0)
    axes.set_title("\n".join([title, *curve.notes]), fontsize=10, loc="left")
    axes.set_xlabel(f"seconds since the first sample\n{curve.caption}")
    axes.set_ylabel(UNITS.get(curve.unit, curve.unit))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(linewidth=0.6)
    axes.margins(x=0)


def broken(curve: Curve) -> tuple[Any, ...]:
    """The curve's seconds, lowest, mean and highest, with a NaN at each gap, which interrupts the drawn line."""
    at = np.searchsorted(curve.seconds, [begin for begin, _end, _reason in curve.gaps])
    return tuple(np.insert(each, at, np.nan) for each in (curve.seconds, curve.lowest, curve.mean, curve.highest))
