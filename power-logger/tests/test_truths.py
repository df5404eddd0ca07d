# SPDX-License-Identifier: GPL-2.0-or-later
"""U covers the truth as often as it should, over thousands of synthetic sessions with fixed seeds (given_truths.py)."""

from __future__ import annotations

import dataclasses
import os

import pytest

from given_truths import CHANNELS, FIRST, RECORD, SECOND, Truth, known, truths
from happe_contract.calibration import Correction, ShuntLine, SupplyTap, Wiring
from happe_contract.cuts import Clocks
from happe_contract.measuring.energy import Figure, Interval, measure
from happe_contract.measuring.rig import rig_of
from happe_contract.rig import Rig
from happe_contract.server_time import server_clock
from happe_contract.time_base import time_base
from happe_contract.traces import Block, ClockEstimate, Gap
from happe_power import sources
from happe_power.arithmetic.compare import Comparison, difference, improvement
from happe_power.sources.clock import VirtualClock
from happe_power.sources.sim import Sim

pytestmark = pytest.mark.slow

COUNT = int(os.environ.get("HAPPE_STUDIES", "2000"))  # make validate has more
SIMULATED = dataclasses.replace(
    RECORD,
    shunt_ohm=known(0.1, 0),
    divider=known(4, 0),
    wiring=Wiring(ShuntLine.RETURN, SupplyTap.AFTER),
    channels={
        "shunt": Correction(known(1, 0), known(0, 0), known(0.002 * 0.5, 1e-5)),
        "supply": Correction(known(1, 0), known(0, 0), known(0.002 * 10, 1e-4)),
    },
)


def hits(truth: Truth, rig: Rig) -> tuple[bool, ...]:
    one, other = (measure(rig, truth.interval(cuts), [truth.block], truth.checks) for cuts in (FIRST, SECOND))
    assert isinstance(one, Figure)
    assert isinstance(other, Figure)
    apart, saved = difference(one, other), improvement(other, one)
    assert isinstance(apart, Comparison)
    assert isinstance(saved, Comparison)
    first, second = truth.watts
    return (
        abs(one.mean_w - first) <= one.budget.expanded,
        abs(other.mean_w - second) <= other.budget.expanded,
        abs(apart.value - (first - second)) <= apart.budget.expanded,
        abs(saved.value - (1 - second / first)) <= saved.budget.expanded,
    )


@pytest.mark.parametrize("steady", [False, True], ids=["a load that steps, with zero checks", "a steady load, without"])
def test_k2_intervals_hold_the_truth_in_94_to_97_percent(steady: bool) -> None:  # noqa: FBT001 - pytest's
    # Given rigs, clocks and noise drawn from the uncertainties of the record and the estimates
    rig = rig_of(CHANNELS, RECORD)
    assert isinstance(rig, Rig)
    # When HAPPE measures and compares two intervals of each
    held = [hits(truth, rig) for truth in truths(1, COUNT, steady=steady)]
    # Then both means, the difference and the improvement cover the truth as often as k = 2 demands
    shares = [sum(each) / COUNT for each in zip(*held, strict=True)]
    assert len(held) == COUNT
    assert all(0.94 <= share <= 0.97 for share in shares), shares
    print(f"steady={steady}: mean {shares[0]:.4f} {shares[1]:.4f}, difference {shares[2]:.4f}, saved {shares[3]:.4f}")


def test_what_both_intervals_have_in_common_cancels_in_the_improvement() -> None:
    rig = rig_of(CHANNELS, RECORD)
    assert isinstance(rig, Rig)
    truth = next(truths(2, 1))
    one, other = (measure(rig, truth.interval(cuts), [truth.block], truth.checks) for cuts in (FIRST, SECOND))
    assert isinstance(one, Figure)
    assert isinstance(other, Figure)
    saved = improvement(other, one)
    assert isinstance(saved, Comparison)
    parts = {line.name: abs(line.part) for line in saved.budget.lines}
    # The shunt scales all power, so its error cancels. Those of gains and divider almost do (the shunt drops volts).
    assert parts["shunt"] < 1e-12
    assert max(parts["divider"], parts["gain of shunt"], parts["gain of supply"]) < 1e-5
    relative = one.budget.standard_uncertainty / one.mean_w
    assert saved.budget.standard_uncertainty < relative / 2


def test_the_simulated_t61_is_measured_as_it_is() -> None:
    # Given the simulated instrument: 100 ppm too fast, noisy, with a hole of 0.2 s, playing the marker
    spec = {"kind": "sim", "rate": 2000, "ppm": 100, "noise": 0.002, "drop": [[20, 0.2]], "marker": [3], "pace": "none"}
    source = sources.make(spec, VirtualClock())
    begin = source.start(0)
    readings = [source.read(0.5) for _ in range(120)]
    items = [item for reading in readings for item in reading.items]
    gaps = [item for item in items if isinstance(item, Gap)]
    pairs = [begin, *(reading.at for reading in readings if reading.at)]
    # When HAPPE measures 36 s with the hole in them, by this host's time
    server = server_clock("monotonic:test", [ClockEstimate(begin.monotonic_us, 0, 100)])
    assert server is not None
    clocks = Clocks(time_base(pairs, gaps, source.rate_hz), server)
    cuts = [clocks.cut(begin.monotonic_us + second * 1_000_000) for second in (2, 38)]
    rig = rig_of(source.channels, SIMULATED)
    assert isinstance(rig, Rig)
    blocks = [item for item in items if isinstance(item, Block)]
    found = measure(rig, Interval("trace", *cuts), blocks)
    # Then U holds the simulation's truth
    assert isinstance(found, Figure)
    assert isinstance(source, Sim)
    truth = source.truth_watts(*(round(cut.position) for cut in cuts))
    assert found.coverage == pytest.approx(1 - 0.2 / 36, abs=1e-4)
    assert abs(found.mean_w - truth) < found.budget.expanded < 0.15
