# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power align`."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_contract.rig import values
from happe_contract.traces import Measures
from happe_power import marker as finder
from happe_power.cli.host import MOMENT, TIMES, Host, pass_host
from happe_power.cli.measure import granted, opened, session_options
from happe_power.figures import clocks_of
from happe_power.tables import watts_of
from happe_power.trace import Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from happe_contract.cuts import Clocks
    from happe_contract.measuring.session import Recorded
    from happe_contract.traces import Block
    from happe_power.cli.host import Moment
    from happe_power.marker import Alignment, Values

MORE = f"""The marker is a pattern of CPU load of 25.4 s that the laptop makes before and after a session
(docs/calibration.md, The marker). The command looks for it within 10 s of the time that the clocks give, and
reports the difference. It never shifts a figure. With --marker it looks in a channel that measures a marker: a
line, a light or a sound that the laptop switches. There it compares levels, or the strength of a tone. The exit
status is 1 if a marker is missing, or if it differs from the clocks by more than both uncertainties allow (k =
2).

{TIMES}

Examples:
  happe-power align 2b1e5a52 --at 2026-11-21T14:00:00Z --at 2026-11-21T16:30:00Z
  happe-power align 2b1e5a52 --at 10:30 --marker light"""


@click.command(cls=Command, epilog=MORE)
@click.argument("trace")
@click.option(
    "--at",
    "begins",
    type=MOMENT,
    multiple=True,
    required=True,
    metavar="TIME",
    help="When a marker began, in the server's time",
)
@click.option("--marker", metavar="NAME", help="The channel that measures the marker  [power]")
@session_options
@json_option
@pass_host
def align(host: Host, /, trace: str, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """Check the clocks by the laptop's markers."""
    if chosen["marker"] is None:
        session = opened(host, trace, **{name: chosen[name] for name in ("calibration", "channel", "own_clock")})
        bins = Bins(session.trace, session.clocks, lambda block: watts_of(session.rig, block))
        found = [_found(bins, finder.align(bins.at(at_us)[0]), at_us, "w") for at_us in bins.instants(chosen["begins"])]
    else:
        bins = _of_channel(Trace.open(host.trace(trace)), chosen["marker"], own_clock=chosen["own_clock"])
        instants = bins.instants(chosen["begins"])
        found = [_found(bins, finder.align_channel(*bins.at(at_us)), at_us, "v") for at_us in instants]
    if chosen["as_json"]:
        print_json({"markers": found})
    else:
        for each in found:
            click.echo(_said(each))
    if not all(each["agrees"] for each in found):
        click.get_current_context().exit(EX_CHECK_FAILED)


class Bins:
    """A trace around an instant, in bins. `signal` returns the values of a block's rows."""

    def __init__(self, trace: Recorded, clocks: Clocks, signal: Callable[[Block], Values]) -> None:
        """Read no samples yet."""
        self.clocks = clocks
        self._trace, self._signal = trace, signal

    def instants(self, moments: Iterable[Moment]) -> list[int]:
        """The server's times of moments."""
        return [each.at(self.clocks, self._trace.started.index) for each in moments]

    def at(self, at_us: int) -> tuple[Values, Values]:
        """Mean and standard deviation in each bin around a marker's expected begin; NaN in bins without samples.

        Raises TraceError.
        """
        edges_us = at_us - finder.SEARCH_US + finder.BIN_US * np.arange(finder.BINS + 1)
        edges = np.array([self.clocks.cut(int(edge)).position for edge in edges_us])
        counts, sums, squares = (np.zeros(finder.BINS) for _ in range(3))
        for block in self._trace.blocks(max(int(edges[0]), 0), math.ceil(edges[-1])):
            values = self._signal(block)
            bins = np.searchsorted(edges, block.first_index + 0.5 + np.arange(len(values)), side="right") - 1
            inside = (bins >= 0) & (bins < finder.BINS)
            counts += np.bincount(bins[inside], minlength=finder.BINS)
            sums += np.bincount(bins[inside], values[inside], finder.BINS)
            squares += np.bincount(bins[inside], values[inside] ** 2, finder.BINS)
        means, mean_squares = (
            np.divide(each, counts, out=np.full(finder.BINS, np.nan), where=counts > 0) for each in (sums, squares)
        )
        return means, np.sqrt(np.maximum(mean_squares - means**2, 0.0))


def _of_channel(trace: Trace, name: str, *, own_clock: bool) -> Bins:
    """The bins of a channel that measures a marker. Raises Failure, TraceError."""
    clocks = granted(clocks_of(trace, own_clock=own_clock))
    markers = [each.name for each in trace.channels if each.measures is Measures.MARKER]
    if name not in markers:
        there = f"it has {', '.join(markers)}" if markers else "none of its channels measures a marker"
        raise Failure(os.EX_USAGE, f"--marker {name}: the trace has no such marker; {there}")
    column = [each.name for each in trace.channels].index(name)
    return Bins(trace, clocks, lambda block: values(trace.channels[column], block.columns[column]))


def _found(bins: Bins, result: Alignment, at_us: int, unit: str) -> dict[str, Any]:
    parts = bins.clocks.cut(at_us).parts
    clock_us = math.hypot(*(part.weight * part.half_width_us for part in parts)) / math.sqrt(3)
    return {
        "at_us": at_us,
        "found": result.found,
        "correlation": result.correlation,
        "threshold": result.threshold,
        "late_us": result.late_us,
        "standard_uncertainty_us": result.uncertainty_us,
        "clock_standard_uncertainty_us": clock_us,
        f"step_{unit}": result.step,
        "agrees": _agrees(result, clock_us),
    }


def _agrees(result: Alignment, clock_us: float) -> bool:
    if result.late_us is None or result.uncertainty_us is None:
        return False
    return abs(result.late_us) <= 2 * math.hypot(result.uncertainty_us, clock_us)


def _said(each: dict[str, Any]) -> str:
    if not each["found"]:
        return (
            f"at {each['at_us'] / 1e6:.6f}: no marker: correlation {each['correlation']:.2f}, "
            f"at least {each['threshold']:.2f} is needed"
        )
    own, clock = each["standard_uncertainty_us"] / 1000, each["clock_standard_uncertainty_us"] / 1000
    verdict = "agrees" if each["agrees"] else "DISAGREES"
    return (
        f"at {each['at_us'] / 1e6:.6f}: {each['late_us'] / 1000:+.2f} ms +- {2 * own:.2f} ms (k = 2) beside the "
        f"clocks' +- {2 * clock:.2f} ms: {verdict}; correlation {each['correlation']:.2f}, step {_step(each)}"
    )


def _step(each: dict[str, Any]) -> str:
    return f"{each['step_w']:.1f} W" if "step_w" in each else f"{each['step_v']:.3g} V"
