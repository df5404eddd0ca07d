# SPDX-License-Identifier: GPL-2.0-or-later
"""Zero checks: what channels read before and after a recording when there is nothing to read.

Inputs are shorted, or, for a channel of current, the laptop is off. Such a reading has the instrument's noise and
nothing of the laptop in it, so it says two things: how well the record's zero still holds, and how noisy a mean is.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from happe_contract.rig import values
from happe_power.arithmetic.budget import Contribution, Kind
from happe_power.arithmetic.noise import scatter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from happe_contract.calibration import Calibration, Correction
    from happe_contract.traces import Block, Channel

MOST_VALUES = 1 << 16  # of which the autocorrelation is taken; more are averaged by groups first
HOLDS_WITHIN = 3.0  # standard uncertainties


@dataclass(frozen=True)
class ZeroReading:
    """What a channel gave, in its unit at the input, before gain and zero.

    `noise` is the long-run standard deviation, s * sqrt(tau): a mean of n samples scatters by noise / sqrt(n).
    """

    channel: str
    at_us: int
    mean: float
    standard_uncertainty: float
    noise: float
    dof: float
    samples: int


@dataclass(frozen=True)
class ZeroVerdict:
    """How far a channel's zero was off, in its unit, after the record's gain and zero.

    `offset`: the mean of both checks; `drift`: the second minus the first; None if there was one check only.
    """

    channel: str
    offset: float
    drift: float | None
    holds: bool
    says: str


class Checks(NamedTuple):
    """The zero checks of a recording, by channel: a reading for the noise, and how the zero held."""

    readings: Mapping[str, ZeroReading]
    verdicts: Mapping[str, ZeroVerdict]


NO_CHECKS = Checks({}, {})


def read_zero(channel: Channel, column: int, blocks: Sequence[Block], at_us: int) -> ZeroReading:
    """The zero reading of a channel. Blocks are in order; gaps between them are passed over. ValueError: no samples."""
    raw = [block.columns[column] for block in blocks if block.rows]
    if not raw:
        raise ValueError("no samples")
    read = values(channel, np.concatenate(raw))
    group = -(-len(read) // MOST_VALUES)
    whole = read[: len(read) // group * group].reshape(-1, group).mean(axis=1)
    found = scatter(whole)
    uncertainty = math.hypot(found.standard_uncertainty, _resolution(channel, read))
    noise = found.deviation * math.sqrt(found.tau * group)
    return ZeroReading(channel.name, at_us, float(read.mean()), uncertainty, noise, found.dof, len(read))


def _resolution(channel: Channel, read: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """A channel that stands still may be anywhere in its step."""
    still = channel.dtype.kind == "i" and bool((read == read[0]).all())
    return abs(channel.scale) / math.sqrt(12) if still else 0.0


def judge(before: ZeroReading, after: ZeroReading | None, correction: Correction | None) -> ZeroVerdict:
    """Whether the record's zero held. It holds if what is left is within three standard uncertainties of none."""
    gain, zero = (correction.gain.value, correction.zero.value) if correction else (1.0, 0.0)
    left = [gain * reading.mean + zero for reading in (before, after) if reading]
    known = [gain * reading.standard_uncertainty for reading in (before, after) if reading]
    offset, uncertainty = sum(left) / len(left), math.hypot(*known) / len(left)
    recorded = correction.zero.standard_uncertainty if correction else 0.0
    holds = abs(offset) <= HOLDS_WITHIN * math.hypot(uncertainty, recorded)
    drift = left[1] - left[0] if after else None
    says = f"{before.channel}: zero is off by {offset:.3g}" + ("" if drift is None else f", drifted by {drift:.3g}")
    return ZeroVerdict(before.channel, offset, drift, holds, says if holds else f"{says}; `happe-power calibrate`")


def checks_of(before: Sequence[ZeroReading], after: Sequence[ZeroReading], calibration: Calibration | None) -> Checks:
    """The checks of a recording, judged by the record in force. Those before or those after it may lack."""
    later = {each.channel: each for each in after} if before else {}
    corrections = calibration.channels if calibration else {}
    first = before or after
    verdicts = [judge(each, later.get(each.channel), corrections.get(each.channel)) for each in first]
    return Checks({each.channel: each for each in first}, {each.channel: each for each in verdicts})


def verdict_contributions(
    verdict: ZeroVerdict, unit: str, sensitivity: float, keys: tuple[str, str]
) -> Iterator[Contribution]:
    """What a zero that is off does to a mean; no zero is mended by a check, the record's stands.

    An offset counts if the record's own uncertainty does not account for it. `keys` are the offset's, which is the same
    for all intervals of a trace, and the drift's, which is anew in each: the zero was somewhere between the two checks.
    Both are bounds (GUM 4.3.7, F.2.4.5).
    """
    if not verdict.holds:
        yield Contribution(
            keys[0],
            f"zero checks of {verdict.channel}",
            Kind.B,
            sensitivity,
            abs(verdict.offset) / math.sqrt(3),
            unit,
            "mean of the checks, not corrected",
        )
    if verdict.drift is not None:
        yield Contribution(
            keys[1],
            f"drift of {verdict.channel} between zero checks",
            Kind.B,
            sensitivity,
            abs(verdict.drift) / 2 / math.sqrt(3),
            unit,
            "half of what the zero drifted",
        )


def shown(readings: Sequence[ZeroReading]) -> list[dict[str, Any]]:
    """Readings as JSON values."""
    return [asdict(each) for each in readings]


def readings_of(document: Sequence[Mapping[str, Any]]) -> list[ZeroReading]:
    """Readings from JSON values. TypeError if that is not what they are."""
    return [ZeroReading(**each) for each in document]
