# SPDX-License-Identifier: GPL-2.0-or-later
"""Bounds the errors that sampling hides: a load that switches in time with the samples looks steady at a wrong mean.

Samples alone can't show it, so the source or the record must state what precedes the sampling: a filter, or that each
sample is a mean (happe_contract.traces.Filter). The laptop only takes power, which bounds the error (Filter.leak).
"""

import math
from collections.abc import Iterator

from happe_contract.measuring.budget import Contribution, Kind
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.rig import Rig
from happe_contract.server_time import Part
from happe_contract.traces import Channel, Filter, Measures

MOST_LEAK = 0.1  # of the mean; with more, the samples say little about it
SUPPLY_OHM = 0.1  # of a laptop's supply and its cable, at most
PRODUCT = (Measures.SHUNT, Measures.CURRENT)  # power is the product of their samples and the supply's
SUPPLY_RIPPLE = 0.05  # of its voltage: the limit for laptops' supplies, for load steps and ripple together


def hidden(rig: Rig, rate_hz: float) -> Refusal | None:
    """The reason why a load could hide from the samples of a rig; None: its filters prevent that."""
    found = _leak(rig, rig.channel, rate_hz)
    name = rig.channel.name
    if found is None:
        return Refusal(
            Why.ALIASING,
            f"nothing states a filter of {name}: if the load switches in step with the "
            f"{rate_hz:.6g} samples a second, its power could be wrong by any amount; state the `filter` in the "
            f"calibration record (--calibration), or bandwidth= of the source",
        )
    if found[0] > MOST_LEAK:
        return Refusal(
            Why.ALIASING,
            f"the filter of {name} ({said(found[1])}) is too weak: if the load switches in step with the {rate_hz:.6g} "
            f"samples a second, its power can be wrong by {100 * found[0]:.0f} %; sample faster, or filter more",
        )
    if found[1].ripple is None and rig.channel.measures in PRODUCT:
        return Refusal(
            Why.ALIASING,
            f"nothing states the `ripple` of {name} behind its filter ({said(found[1])}): pulses of current take power "
            f"in the wires that smoothed samples do not show; state it in the calibration record's `filter`, or as "
            f"ripple= of the source: {rig.channel.unit} rms by an oscilloscope, or half of the highest value",
        )
    return None


def contributions(rig: Rig, rate_hz: float, mean_w: float) -> Iterator[Contribution]:
    """The budget's lines for aliasing, for a rig that `hidden` has not refused.

    The mean of the samples m and the true mean p differ by at most leak * p, so by at most leak / (1 - leak) * m.
    """
    leak, by = _leak(rig, rig.channel, rate_hz) or (MOST_LEAK, None)
    if leak > 0:
        yield _line(rig.channel, leak / (1 - leak), mean_w, f"{_called(by)}, for a load that is never negative")
    if rig.supply is None:
        return
    leak, by = _leak(rig, rig.supply, rate_hz) or (1.0, None)
    if leak > 0:
        limit = SUPPLY_RIPPLE * min(leak, 1.0)
        yield _line(rig.supply, limit, mean_w, f"{_called(by)}, for a ripple of {100 * SUPPLY_RIPPLE:g} %")


def ripple(rig: Rig, rate_hz: float) -> Iterator[Contribution]:
    """The budget's line for ripple that is faster than the filter, for a rig that `hidden` has not refused.

    The laptop's voltage falls by the current times the resistance of shunt, cable and supply. So a ripple of the
    current takes that resistance times its mean square off the mean power, which a product of filtered values misses.
    """
    channel = rig.channel
    by = (_leak(rig, channel, rate_hz) or (0.0, None))[1]
    if by is None or by.ripple is None or channel.measures not in PRODUCT:
        return
    shunt_ohm = rig.ohm.value if channel.measures is Measures.SHUNT else 0.0
    amperes = rig.gain.value * by.ripple / rig.ohm.value
    limit = (shunt_ohm + SUPPLY_OHM) * amperes**2
    name, source = f"ripple of {channel.name}", f"{by.ripple:.3g} {channel.unit} rms behind the filter"
    yield Contribution(f"ripple/{channel.name}", name, Kind.B, 1.0, limit / math.sqrt(3), "W", source)


def delay(rig: Rig, rate_hz: float) -> Part | None:
    """The delay of a low pass between the laptop and the samples, as a reason why cuts may be off."""
    by = (_leak(rig, rig.channel, rate_hz) or (0.0, None))[1]
    if by is None or by.bandwidth_hz is None:
        return None
    late_us = 1e6 * by.poles / (2 * math.pi * by.bandwidth_hz)
    return Part(f"delay/{rig.channel.name}", f"delay of {rig.channel.name}", 1.0, late_us, said(by))


def _line(channel: Channel, limit: float, mean_w: float, source: str) -> Contribution:
    """A bound (GUM 4.3.7). All intervals share it: a load that hides in one hides in the others."""
    off = limit / math.sqrt(3)
    return Contribution(f"aliasing/{channel.name}", f"aliasing of {channel.name}", Kind.B, mean_w, off, "1", source)


def _leak(rig: Rig, channel: Channel, rate_hz: float) -> tuple[float, Filter] | None:
    """The smaller leak of the stated filters, with its filter; None if none is stated."""
    known = rig.corrections.get(channel.name)
    stated = [each for each in (known.filter if known else None, channel.filter) if each]
    return min(((each.leak(rate_hz), each) for each in stated), key=lambda each: each[0], default=None)


def _called(by: Filter | None) -> str:
    return said(by) if by else "no filter is stated"


def said(by: Filter) -> str:
    """A filter in words."""
    if by.mean_s is not None:
        return f"means of {by.mean_s:.3g} s"
    return f"{by.bandwidth_hz:.4g} Hz, {by.poles} pole{'s' if by.poles > 1 else ''}"
