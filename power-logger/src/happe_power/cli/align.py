# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power align`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED
from happe_power.arithmetic import align as finder
from happe_power.arithmetic.rig import columns
from happe_power.cli.host import Host, pass_host
from happe_power.cli.measure import TIME, opened, session_options

if TYPE_CHECKING:
    from happe_power.arithmetic.align import Alignment, Values
    from happe_power.figures import Session

MORE = """The marker is a pattern of CPU load of 25.4 s that the laptop makes before and after a session
(docs/uncertainty.md, The marker). It is looked for within 10 s of where the clocks say it is. What is found is
told and nothing else: no figure is ever shifted by it. Exit status 1: a marker was not found, or it disagrees
with the clocks by more than both allow (k = 2).

Examples:
  happe-power align 2b1e5a52 --at 2026-11-21T14:00:00Z --at 2026-11-21T16:30:00Z"""


@click.command(cls=Command, epilog=MORE)
@click.argument("trace")
@click.option(
    "--at", "begins", type=TIME, multiple=True, required=True, metavar="TIME", help="When a marker began, server time"
)
@session_options
@json_option
@pass_host
def align(host: Host, /, trace: str, **chosen: Any) -> None:  # noqa: ANN401 - click's options
    """Look for the laptop's markers, as a check of the clocks."""
    session = opened(host, trace, **{name: chosen[name] for name in ("calibration", "channel", "own_clock")})
    found = [_found(session, at_us) for at_us in chosen["begins"]]
    if chosen["as_json"]:
        print_json({"markers": found})
    else:
        for each in found:
            click.echo(_said(each))
    if not all(each["agrees"] for each in found):
        click.get_current_context().exit(EX_CHECK_FAILED)


def _found(session: Session, at_us: int) -> dict[str, Any]:
    result = finder.align(_watts(session, at_us))
    clock_us = math.hypot(*(part.weight * part.half_width_us for part in session.clocks.cut(at_us).parts)) / math.sqrt(
        3
    )
    return {
        "at_us": at_us,
        "found": result.found,
        "correlation": result.correlation,
        "threshold": result.threshold,
        "late_us": result.late_us,
        "standard_uncertainty_us": result.uncertainty_us,
        "clock_standard_uncertainty_us": clock_us,
        "step_w": result.step_w,
        "agrees": _agrees(result, clock_us),
    }


def _agrees(result: Alignment, clock_us: float) -> bool:
    if result.late_us is None or result.uncertainty_us is None:
        return False
    return abs(result.late_us) <= 2 * math.hypot(result.uncertainty_us, clock_us)


def _watts(session: Session, at_us: int) -> Values:
    """Mean power in each bin around where a marker should begin; NaN where nothing was recorded."""
    edges_us = at_us - finder.SEARCH_US + finder.BIN_US * np.arange(finder.BINS + 1)
    edges = np.array([session.clocks.cut(int(edge)).position for edge in edges_us])
    sums, counts = np.zeros(finder.BINS), np.zeros(finder.BINS)
    for first, x, y in columns(session.rig, session.trace.blocks(max(int(edges[0]), 0), math.ceil(edges[-1]))):
        bins = np.searchsorted(edges, first + 0.5 + np.arange(len(x)), side="right") - 1
        inside = (bins >= 0) & (bins < finder.BINS)
        sums += np.bincount(bins[inside], session.rig.power(x, y)[inside], finder.BINS)
        counts += np.bincount(bins[inside], minlength=finder.BINS)
    watts: Values = np.divide(sums, counts, out=np.full(finder.BINS, np.nan), where=counts > 0)
    return watts


def _said(each: dict[str, Any]) -> str:
    if not each["found"]:
        return (
            f"at {each['at_us'] / 1e6:.6f}: no marker: correlation {each['correlation']:.2f}, "
            f"{each['threshold']:.2f} is the least that tells"
        )
    own, clock = each["standard_uncertainty_us"] / 1000, each["clock_standard_uncertainty_us"] / 1000
    verdict = "agrees" if each["agrees"] else "DISAGREES"
    return (
        f"at {each['at_us'] / 1e6:.6f}: {each['late_us'] / 1000:+.2f} ms +- {2 * own:.2f} ms (k = 2) beside the "
        f"clocks' +- {2 * clock:.2f} ms: {verdict}; correlation {each['correlation']:.2f}, step {each['step_w']:.1f} W"
    )
