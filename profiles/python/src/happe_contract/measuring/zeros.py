# SPDX-License-Identifier: GPL-2.0-or-later
"""Zero checks: the readings of channels with nothing to measure, before and after a recording.

The inputs are shorted, or, for a channel of current, the laptop is off. Such a reading has only the instrument's noise,
so it shows two things: how well the record's zero still holds, and how noisy a mean is.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from happe_contract.calibration import Calibration, Correction
from happe_contract.measuring.budget import Contribution, Kind
from happe_contract.measuring.noise import flicker, scatter
from happe_contract.rig import values
from happe_contract.traces import Block, Channel, Measures, Quantity

HAVE_A_ZERO = (Measures.SHUNT, Measures.CURRENT)
UNCHECKED_SHARE = 2e-4  # of a range: how far a zero may move by the data sheets of such boards
MANY = 3  # so many checks show by their spread how the zero moves between them
MOST_VALUES = 1 << 16  # for the autocorrelation; more values are averaged in groups first
HOLDS_WITHIN = 3.0  # standard uncertainties


@dataclass(frozen=True)
class ZeroReading:
    """A channel's zero reading, in its unit at the input, before gain and zero.

    `noise` is the long-run standard deviation, s * sqrt(tau): a mean of n samples scatters by noise / sqrt(n).
    `flicker` is the floor of the Allan deviation; readings made by older versions have none.
    """

    channel: str
    at_us: int
    mean: float
    standard_uncertainty: float
    noise: float
    dof: float
    samples: int
    flicker: float = 0.0
    flicker_dof: float = 1.0


@dataclass(frozen=True)
class ZeroVerdict:
    """How far a channel's zero was off, in its unit, after the record's gain and zero.

    `offset`: the mean of all checks; `farthest`: the largest deviation in a check; `spread`: the highest less the
    lowest, 0 for a single check.
    """

    channel: str
    offset: float
    farthest: float
    spread: float
    checks: int
    holds: bool
    says: str


class Checks(NamedTuple):
    """The zero checks of a recording by channel: a reading for the noise, and a verdict on the zero."""

    readings: Mapping[str, ZeroReading]
    verdicts: Mapping[str, ZeroVerdict]


NO_CHECKS = Checks({}, {})


def read_zero(channel: Channel, column: int, blocks: Sequence[Block], at_us: int) -> ZeroReading:
    """The zero reading of a channel, from blocks in order, without the gaps. Raises ValueError without samples."""
    raw = [block.columns[column] for block in blocks if block.rows]
    if not raw:
        raise ValueError("no samples")
    read = values(channel, np.concatenate(raw))
    group = -(-len(read) // MOST_VALUES)
    whole = read[: len(read) // group * group].reshape(-1, group).mean(axis=1)
    found = scatter(whole)
    uncertainty = math.hypot(found.standard_uncertainty, _resolution(channel, read))
    noise = found.deviation * math.sqrt(found.tau * group)
    low = flicker(whole)
    dof = min(low.dof, MOST_DOF)  # JSON has no infinity
    return ZeroReading(
        channel.name, at_us, float(read.mean()), uncertainty, noise, found.dof, len(read), low.floor, dof
    )


MOST_DOF = 1e9


def _resolution(channel: Channel, read: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """The uncertainty of a reading that never changes: the value may be anywhere in its step."""
    still = channel.dtype.kind == "i" and bool((read == read[0]).all())
    return abs(channel.scale) / math.sqrt(12) if still else 0.0


def judge(readings: Sequence[ZeroReading], correction: Correction | None) -> ZeroVerdict:
    """Judge the record's zero by the readings of one channel, at least one, in the order of their times.

    The zero holds if the remaining offset is within three standard uncertainties of 0.
    """
    gain, zero = (correction.gain.value, correction.zero.value) if correction else (1.0, 0.0)
    left = [gain * reading.mean + zero for reading in readings]
    known = [gain * reading.standard_uncertainty for reading in readings]
    offset, uncertainty = sum(left) / len(left), math.hypot(*known) / len(left)
    recorded = correction.zero.standard_uncertainty if correction else 0.0
    holds = abs(offset) <= HOLDS_WITHIN * math.hypot(uncertainty, recorded)
    spread = max(left) - min(left)
    channel = readings[0].channel
    says = f"{channel}: zero is off by {offset:.3g}" + (f", moved by {spread:.3g}" if len(left) > 1 else "")
    return ZeroVerdict(
        channel,
        offset,
        max(map(abs, left)),
        spread,
        len(left),
        holds,
        says if holds else f"{says}; `happe-power calibrate`",
    )


def checks_of(readings: Sequence[ZeroReading], calibration: Calibration | None) -> Checks:
    """The checks of all channels of a recording, in the order of their times, judged by the record in force."""
    corrections = calibration.channels if calibration else {}
    by_channel: dict[str, list[ZeroReading]] = {}
    for each in readings:
        by_channel.setdefault(each.channel, []).append(each)
    verdicts = {name: judge(each, corrections.get(name)) for name, each in by_channel.items()}
    return Checks({name: each[0] for name, each in by_channel.items()}, verdicts)


class Zero(NamedTuple):
    """The other facts on a channel's zero in a session, besides its checks.

    `drift` is the record's. `level` is the size of the channel's values, in its unit. `gain` is the record's.
    """

    channel: Channel
    drift: Quantity | None
    level: float
    gain: float

    @property
    def unseen(self) -> tuple[float, str]:
        """The standard uncertainty of the zero's drift between checks, and how it is known."""
        if self.drift:
            return self.drift.standard_uncertainty, self.drift.source
        dtype = self.channel.dtype
        narrow = dtype == np.int16
        limit = UNCHECKED_SHARE * (np.iinfo(dtype).max * abs(self.channel.scale) if narrow else self.level)
        of = "the range" if narrow else "the reading"
        return self.gain * limit / math.sqrt(3), f"no drift is stated: {100 * UNCHECKED_SHARE:g} % of {of} allowed"


def zero_contributions(
    zero: Zero, verdict: ZeroVerdict | None, sensitivity: float, keys: tuple[str, str]
) -> Iterator[Contribution]:
    """The contributions of a wrong zero to a mean. A check never corrects the record's zero.

    An offset counts if the record's own uncertainty does not explain it. The farthest check counts, because the
    interval may lie where the zero was farthest off. The first of `keys` is for the offset, which all intervals of a
    trace share; the second is for the drift, which every interval has separately: the zero was somewhere between the
    checks' findings, which is a bound (GUM 4.3.7, F.2.4.5). Fewer than three checks do not show where it was between
    them.
    """
    name, unit = zero.channel.name, zero.channel.unit
    if verdict and not verdict.holds:
        farthest, source = verdict.farthest / math.sqrt(3), "the worst of the checks, not corrected"
        yield Contribution(keys[0], f"zero checks of {name}", Kind.B, sensitivity, farthest, unit, source)
    spread, checks = (verdict.spread, verdict.checks) if verdict else (0.0, 0)
    drift = spread / math.sqrt(12)
    source = f"spread of {checks} zero checks"
    if checks < MANY:
        unseen, how = zero.unseen
        drift = math.hypot(drift, unseen)
        source = f"{source}; {how}" if checks > 1 else how
    yield Contribution(keys[1], f"drift of the zero of {name}", Kind.B, sensitivity, drift, unit, source)
