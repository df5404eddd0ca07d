# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws a trace's watts over time, or its first channel if it has no watts, with matplotlib."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_cli.errors import Failure
from happe_contract.rig import Rig, values
from happe_contract.traces import Measures
from happe_power.tables import WATTS, rig, watts_of
from happe_power.trace import Trace

Values = NDArray[np.float64]

POINTS = 2000
MISSING = "a picture needs matplotlib; `pip install 'happe-power-logger[show]'` gets it"
INCHES, DPI = (9.6, 4.2), 100
CURVE, GAP = "#0b5cad", "#b35900"


@dataclass(frozen=True)
class Curve:
    """Lowest, mean and highest value of bins, at seconds since the trace's first sample; NaN where no sample is.

    `gaps` have their first and last second. `notes` are for every reader.
    """

    name: str
    unit: str
    seconds: Values
    lowest: Values
    mean: Values
    highest: Values
    gaps: tuple[tuple[float, float], ...]
    notes: tuple[str, ...]


def curve(trace: Trace, first: int, end: int, points: int = POINTS) -> Curve:
    """The curve between two indices, in at most `points` bins of equally many indices. Raises TraceError."""
    found, notes = rig(trace)
    width = -(-(end - first) // points)
    edges = np.arange(first, end, width)
    lowest, highest, sums, counts = (np.full(len(edges), start) for start in (np.inf, -np.inf, 0.0, 0.0))
    counter = isinstance(found, Rig) and found.channel.measures is Measures.ENERGY
    for block in trace.blocks(first, end):
        if isinstance(found, Rig) and not counter:
            made = watts_of(found, block)
        else:
            column = found.column if isinstance(found, Rig) else 0
            made = values(trace.channels[column], block.columns[column])
        bins = (np.arange(block.first_index, block.end_index) - first) // width
        starts = np.flatnonzero(np.diff(bins, prepend=-1))
        at = bins[starts]
        lowest[at] = np.minimum(lowest[at], np.minimum.reduceat(made, starts))
        highest[at] = np.maximum(highest[at], np.maximum.reduceat(made, starts))
        sums[at] += np.add.reduceat(made, starts)
        counts[at] += np.diff(starts, append=len(made))
    here = counts > 0
    mean = np.divide(sums, counts, out=np.full(len(edges), np.nan), where=here)
    lowest, highest = np.where(here, lowest, np.nan), np.where(here, highest, np.nan)
    seconds = trace.seconds(edges + (width - 1) / 2)
    if counter:  # its watts are its steps from bin to bin
        lowest = mean = highest = np.gradient(lowest, seconds) if len(seconds) > 1 else lowest * np.nan
    inside = [gap for gap in trace.gaps if gap.from_index < end and gap.to_index > first]
    spans = np.array([(max(gap.from_index, first), min(gap.to_index, end)) for gap in inside]).reshape(-1, 2)
    gaps = tuple((float(a), float(b)) for a, b in trace.seconds(spans))
    if isinstance(found, Rig):
        return Curve(WATTS, "W", seconds, lowest, mean, highest, gaps, notes)
    channel = trace.channels[0]
    why = (f"no watts: {found.detail}",)
    return Curve(channel.name, channel.unit, seconds, lowest, mean, highest, gaps, why)


def save(trace: Trace, drawn: Curve, title: str, path: Path) -> None:
    """Draw a curve into a new file, a PNG or SVG by its name. Raises FileExistsError, OSError, Failure."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - takes half a second
    except ImportError:
        raise Failure(os.EX_UNAVAILABLE, MISSING) from None
    figure = Figure(figsize=INCHES, dpi=DPI, layout="constrained")
    _draw(figure.add_subplot(), trace, drawn, title)
    with path.open("xb") as file:
        figure.savefig(file, format=path.suffix.removeprefix(".").lower())


def _draw(axes: Any, trace: Trace, drawn: Curve, title: str) -> None:  # noqa: ANN401 - matplotlib's Axes
    axes.fill_between(drawn.seconds, drawn.lowest, drawn.highest, color=CURVE, alpha=0.25, linewidth=0)
    axes.plot(drawn.seconds, drawn.mean, color=CURVE, linewidth=1.2)
    for begin, end in drawn.gaps:
        axes.axvspan(begin, end, color=GAP, alpha=0.25, linewidth=0)
    record = trace.calibration
    by = f"; calibration {record.name}" if record and drawn.name == WATTS else ""
    axes.set_title("\n".join([title, *drawn.notes]), fontsize=10, loc="left")
    axes.set_xlabel(f"seconds since the first sample\nline: mean; band: lowest to highest sample{by}")
    axes.set_ylabel(f"{drawn.name} in {drawn.unit}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(linewidth=0.6)
    axes.margins(x=0)
