# SPDX-License-Identifier: GPL-2.0-or-later
"""U holds the truth of sessions from an independent module (independent_truths.py), or HAPPE refuses the figure.

With -s it prints the table of docs/uncertainty.md. `tools/validate.sh statistics` draws 300 sessions of each case.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from happe_contract import schemas
from happe_contract.measuring.energy import Figure
from happe_contract.measuring.refusal import Limits, Refusal
from happe_contract.measuring.session import Times
from happe_contract.measuring.zeros import read_zero
from happe_contract.traces import Block, ClockEstimate, Gap, Reason, TimePair
from happe_power import figures
from happe_power.compare import Comparison, difference, improvement
from happe_power.trace import Trace
from independent_truths import RIPPLE_V, Case, Session, session

pytestmark = pytest.mark.slow

COUNT = int(os.environ.get("HAPPE_TRUTHS", "20"))
WANTED = 0.93
MANY = 300  # of this many draws or more, the share WANTED must hold; of fewer, some may miss by chance
CHANCE = 1e-3  # the chance that too few draws hold the truth although each holds it with probability WANTED

LOAD = Case("a load that steps, 16 bits, two zero checks", checks=2)
FAST = replace(LOAD, rate_hz=200.0, switched_hz=1000.0)
PULSES = replace(
    LOAD, switched_hz=200.0, duty=0.05, name="3 A at 200 Hz, 5 % of the time, means of 20 ms", ripple_v=None
)
UNTIMED = replace(LOAD, name="20 s after 30 min, no times, 120 ppm", off_ppm=120.0, starts_at_s=1800.0, timed=False)
CASES = [  # with the reason why HAPPE refuses their figures; empty: it gives figures
    (LOAD, ""),
    (replace(LOAD, name="12 bits", bits=12), ""),
    (replace(LOAD, name="the rate 120 ppm off", off_ppm=120.0), ""),
    (replace(LOAD, name="gaps of up to 0.6 %", gaps=4), ""),
    (replace(LOAD, name="an even drift of 60 uV between two checks", drift_v=None, ramp_v=6e-5), ""),
    (replace(LOAD, name="a drift there and back of 60 uV, two checks", drift_v=None, hump_v=6e-5), ""),
    (replace(LOAD, name="a drift there and back of 300 uV, five checks", drift_v=None, hump_v=3e-4, checks=5), ""),
    (
        replace(
            LOAD,
            name="a drift of 60 uV, no check",
            drift_v=None,
            ramp_v=6e-5,
            hump_v=6e-5,
            checks=0,
            noise_in_record=True,
        ),
        "",
    ),
    (replace(LOAD, name="1/f noise of 30 uV, two checks", drift_v=None, flicker_v=3e-5), ""),
    (
        replace(
            LOAD,
            name="1/f noise of 30 uV, white in the record",
            drift_v=None,
            flicker_v=3e-5,
            checks=0,
            noise_in_record=True,
        ),
        "",
    ),
    (replace(FAST, name="1 kHz at 200 S/s, in time", samples_at_instants=True, in_time=True), "aliasing"),
    (replace(FAST, name="1 kHz at 200 S/s, 120 ppm off", samples_at_instants=True, off_ppm=120.0), "aliasing"),
    (replace(FAST, name="1 kHz at 200 S/s, in time, two poles of 5 Hz", in_time=True, filter_hz=5.0), ""),
    (replace(FAST, name="1 kHz at 200 S/s, 120 ppm off, two poles of 5 Hz", off_ppm=120.0, filter_hz=5.0), ""),
    (PULSES, "aliasing"),
    (replace(PULSES, name=f"{PULSES.name}, ripple stated", ripple_v=RIPPLE_V), ""),
    (UNTIMED, "clock"),
    (replace(UNTIMED, name="the same, cuts of 1 s let pass", limits={"clock_us": 1e6, "clock_share": 1.0}), ""),
    (Case("floats in steps of 0.1 W, stated", step_w=0.1, states_step=True), ""),
    (Case("floats in steps of 0.1 W, not stated", step_w=0.1), ""),
]


class Remade(Trace):
    """A trace of an invented session, without files."""

    def __init__(self, made: Session) -> None:
        """Take the facts of the session."""
        super().__init__(Path(), schemas.read(schemas.Kind.POWER_TRACE, json.dumps(made.header).encode()))
        self._made = made
        self.manifest = None
        self.time_base = [TimePair(index, us, us) for index, us in made.pairs]
        self.gaps = [Gap(*each, Reason.OVERFLOW) for each in made.gaps]
        self.clocks = [ClockEstimate(*each) for each in made.estimates]

    @property
    def end_index(self) -> int:
        """The index after the last sample."""
        return self._made.first_index + len(self._made.columns[0])

    def blocks(self, from_index: int | None = None, to_index: int | None = None) -> Iterator[Block]:
        """Yield the blocks between the gaps."""
        first = max(from_index or 0, self._made.first_index)
        end = min(self.end_index if to_index is None else to_index, self.end_index)
        edges = [first, *(at for gap in self._made.gaps for at in gap), end]
        for begin, stop in zip(edges[::2], edges[1::2], strict=True):
            part = slice(begin - self._made.first_index, stop - self._made.first_index)
            yield Block(begin, tuple(column[part] for column in self._made.columns))


@dataclass
class Tally:
    """The results of a case's draws."""

    held: int = 0
    refused: int = 0
    why: str = ""
    widths: tuple[float, ...] = ()

    def add(self, case: Case, made: Session, folder: Path) -> None:
        """Measure one draw."""
        found = measured(case, made, folder, made.interval_us)
        if isinstance(found, Refusal):
            self.refused, self.why = self.refused + 1, str(found.why)
            return
        self.held += abs(found.mean_w - made.watts) <= found.budget.expanded
        self.widths = (*self.widths, found.budget.expanded)

    def line(self, case: Case) -> str:
        """Return a row of the table."""
        if self.refused == COUNT:
            return f"| {case.name} | refused: {self.why} | |"
        share = 100 * self.held / (COUNT - self.refused)
        return f"| {case.name} | {share:.1f} % | {1000 * median(self.widths):.0f} mW |"


def measured(case: Case, made: Session, folder: Path, interval_us: tuple[int, int]) -> Figure | Refusal:
    """Return the figure of an interval, computed as `happe-power measure` does."""
    trace = Remade(made)
    readings = [read_zero(trace.channels[0], 0, [Block(0, (check,))], 0) for check in made.checks]
    zeros = folder / "zeros.json"
    zeros.write_text(json.dumps({"before": list(map(asdict, readings)), "after": []}))
    found = figures.session(trace, zeros=zeros)
    assert not isinstance(found, Refusal), found
    return found.figure(Times(*interval_us), replace(Limits(), **case.limits))


def fewest(count: int) -> int:
    """Return the CHANCE quantile of the number of draws that hold, if each holds with probability WANTED."""
    rng = np.random.default_rng(1)
    return int(np.quantile(rng.binomial(count, WANTED, 1_000_000), CHANCE))


@pytest.mark.parametrize(("case", "why"), CASES, ids=[case.name for case, _ in CASES])
def test_the_interval_holds_the_truth_or_there_is_none(case: Case, why: str, tmp_path: Path) -> None:
    # Given sessions drawn from the uncertainties in the case's record, with the errors of its case
    rng = np.random.default_rng([20261123, CASES.index((case, why))])
    tally = Tally()
    # When HAPPE measures the watts between two of the server's instants
    for _ in range(COUNT):
        tally.add(case, session(case, rng), tmp_path)
    print(tally.line(case))
    # Then it refuses every figure for the expected reason, or U holds the truth often enough
    assert (tally.refused, tally.why) == ((COUNT, why) if why else (0, ""))
    assert why or tally.held >= (WANTED * COUNT if COUNT >= MANY else fewest(COUNT))


def test_differences_and_improvements_hold_the_truth_and_what_is_common_cancels(tmp_path: Path) -> None:
    rng = np.random.default_rng(20261123)
    held = np.zeros(2, int)
    for _ in range(COUNT):
        made = session(LOAD, rng)
        both = [measured(LOAD, made, tmp_path, each) for each in (made.interval_us, made.reference_us)]
        one, reference = (each for each in both if not isinstance(each, Refusal))
        apart, saved = difference(one, reference), improvement(one, reference)
        assert isinstance(apart, Comparison)
        assert isinstance(saved, Comparison)
        held += (
            abs(apart.value - (made.watts - made.reference_watts)) <= apart.budget.expanded,
            abs(saved.value - (1 - made.watts / made.reference_watts)) <= saved.budget.expanded,
        )
        # The shunt scales all power, so its error cancels. Those of gains and divider almost do.
        parts = {line.name: abs(line.part) for line in saved.budget.lines}
        assert parts["shunt"] < 1e-12
        assert max(parts["divider"], parts["gain of shunt"], parts["gain of supply"]) < 1e-5
    print(f"difference {held[0] / COUNT:.3f}, improvement {held[1] / COUNT:.3f}")
    assert min(held) >= (WANTED * COUNT if COUNT >= MANY else fewest(COUNT))
