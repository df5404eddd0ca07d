# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a curve of watts or of one channel, from summaries if they are fine enough, else from samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.calibration import Standing, from_header, standing
from happe_contract.measuring.budget import COVERAGE_FACTOR
from happe_contract.measuring.refusal import Refusal
from happe_contract.measuring.rig import contributions, rig_of
from happe_contract.rig import Moments, Rig, values
from happe_contract.traces import Measures
from happe_power.recording import summaries
from happe_power.recording.summaries import Summary
from happe_power.viewing.stretch import axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_contract.traces import Channel
    from happe_power.trace import Trace

    Values = NDArray[np.float64]

WATTS = "watts"
POINTS = 2000
BAND = "line: mean; band: lowest to highest sample"


@dataclass(frozen=True)
class Curve:
    """Lowest, mean and highest value of bins, at seconds since the trace's first sample.

    `gaps` have their first and last second and their reason. `notes` are for every reader. `caption` explains the band
    and the calibration of the watts.
    """

    name: str
    unit: str
    seconds: Values
    lowest: Values
    mean: Values
    highest: Values
    gaps: tuple[tuple[float, float, str], ...]
    notes: tuple[str, ...]
    caption: str = BAND


def curve(trace: Trace, name: str | None, first: int, end: int, points: int = POINTS) -> Curve:
    """The curve of `watts`, or of the channel `name`, between two indices, with about `points` points.

    Without a name: watts if the trace's calibration gives them, else the first channel. The extremes of watts are
    computed from the channels' extremes. Raises TraceError; ValueError without such a channel, or without watts.
    """
    found, notes = _chosen(trace, name)
    summary = _thinned(_summary(trace, first, end, points), points)
    line = axis(trace)
    if isinstance(found, Rig):
        label, unit, triple = WATTS, "W", _watts(found, summary, line.seconds(summary.index))
    else:
        channel = trace.channels[found]
        label, unit = channel.name, channel.unit
        triple = _of_channel(channel, [kind[found] for kind in (summary.lowest, summary.mean, summary.highest)])
    lowest, mean, highest = np.minimum(triple[0], triple[2]), triple[1], np.maximum(triple[0], triple[2])
    middle = line.seconds(summary.index + (summary.rows - 1) / 2)
    caption = _caption(trace, found, summary) if isinstance(found, Rig) else BAND
    return Curve(label, unit, middle, lowest, mean, highest, _gaps(trace, first, end), notes, caption)


def _caption(trace: Trace, found: Rig, summary: Summary) -> str:
    """A caption with the calibration's name, and its part of the expanded uncertainty of the mean power (k = 2)."""
    calibration = from_header(trace.calibration)
    if calibration is None or found.channel.measures is Measures.ENERGY or not len(summary.rows):
        return BAND
    x = values(found.channel, summary.mean[found.column])
    y = np.ones(len(x))
    if found.supply is not None and found.supply_column is not None:
        y = values(found.supply, summary.mean[found.supply_column])
    moments = Moments(*(float(np.average(each, weights=summary.rows)) for each in (x, y, x * x, x * y)))
    expanded = COVERAGE_FACTOR * math.hypot(*(line.part for line in contributions(found, moments)))
    known = f"+- {expanded:.2g} W (k = {COVERAGE_FACTOR:g}) of {found.mean(moments):.4g} W"
    return f"{BAND}; calibration {calibration.name}: {known}, without noise and clocks"


def rig(trace: Trace) -> tuple[Rig | Refusal, tuple[str, ...]]:
    """The rig that gives a trace's watts, or why none does; and notes for every figure. Raises TraceError."""
    calibration = from_header(trace.calibration)
    found = rig_of(trace.channels, calibration)
    worth, said = standing(calibration, datetime.fromtimestamp(trace.started.realtime_us / 1e6, UTC).date())
    return found, () if worth is Standing.GOOD else (said,)


def _chosen(trace: Trace, name: str | None) -> tuple[Rig | int, tuple[str, ...]]:
    """The chosen rig, or a channel's position; and the notes."""
    names = [channel.name for channel in trace.channels]
    if name in names:
        return names.index(name), ()
    found, notes = rig(trace)
    if isinstance(found, Rig) and name in (None, WATTS):
        return found, notes
    if isinstance(found, Refusal) and name is None:
        return 0, (f"no watts: {found.detail}",)
    why = f"; no watts: {found.detail}" if isinstance(found, Refusal) else f", {WATTS}"
    raise ValueError(f"no channel {name}; there are {', '.join(names)}{why}")


def _summary(trace: Trace, first: int, end: int, points: int) -> Summary:
    """About `points` bins or more: of the summary if that suffices or the parts are gone, else samples."""
    if not trace.numbers or (end - first) / points >= summaries.width(trace.rate_hz):
        return _cut(trace.summary(), first, end)
    return _of_samples(trace, first, end)


def _of_samples(trace: Trace, first: int, end: int) -> Summary:
    pieces = []
    for block in trace.blocks(first, end):
        mean = tuple(column.astype(np.float64) for column in block.columns)
        index = np.arange(block.first_index, block.end_index)
        pieces.append(Summary(index, np.ones(block.rows, np.int64), block.columns, mean, block.columns))
    return summaries.joined(pieces) if pieces else summaries.nothing(trace.channels)


def _cut(summary: Summary, first: int, end: int) -> Summary:
    kept = slice(*np.searchsorted(summary.index, (first, end)))
    return _taken(summary, kept)


def _taken(summary: Summary, kept: slice) -> Summary:
    kinds = ((*(column[kept] for column in kind),) for kind in (summary.lowest, summary.mean, summary.highest))
    return Summary(summary.index[kept], summary.rows[kept], *kinds)


def _thinned(summary: Summary, points: int) -> Summary:
    """Join bins until at most `points` are left. Extremes stay; the numbers of rows weight the means."""
    step = -(-len(summary.index) // points)
    if step <= 1:
        return summary
    starts = np.arange(0, len(summary.index), step)
    rows = np.add.reduceat(summary.rows, starts)
    return Summary(
        summary.index[starts],
        rows,
        tuple(np.minimum.reduceat(each, starts) for each in summary.lowest),
        tuple(np.add.reduceat(each * summary.rows, starts) / rows for each in summary.mean),
        tuple(np.maximum.reduceat(each, starts) for each in summary.highest),
    )


def _watts(rig: Rig, summary: Summary, seconds: Values) -> tuple[Values, Values, Values]:
    """Watts of the bins' lowest, mean and highest values; of an energy counter, of its steps from bin to bin."""
    kinds = (summary.lowest, summary.mean, summary.highest)
    if rig.channel.measures is Measures.ENERGY:
        joules = values(rig.channel, summary.lowest[rig.column])
        steps = np.gradient(joules, seconds) if len(joules) > 1 else np.full(len(joules), np.nan)
        return steps, steps, steps
    x = [values(rig.channel, kind[rig.column]) for kind in kinds]
    if rig.supply is None or rig.supply_column is None:
        y = [np.ones(len(each)) for each in x]
    else:
        y = [values(rig.supply, kind[rig.supply_column]) for kind in kinds]
    lowest, mean, highest = (rig.power(*pair) for pair in zip(x, y, strict=True))
    return lowest, mean, highest


def _of_channel(channel: Channel, kinds: Sequence[NDArray[Any]]) -> tuple[Values, Values, Values]:
    lowest, mean, highest = (values(channel, each) for each in kinds)
    return lowest, mean, highest


def _gaps(trace: Trace, first: int, end: int) -> tuple[tuple[float, float, str], ...]:
    line = axis(trace)
    inside = [gap for gap in trace.gaps if gap.from_index < end and gap.to_index > first]
    edges = np.array([(max(gap.from_index, first), min(gap.to_index, end)) for gap in inside]).reshape(-1, 2)
    seconds = line.seconds(edges)
    return tuple((float(a), float(b), gap.reason.value) for (a, b), gap in zip(seconds, inside, strict=True))
