# SPDX-License-Identifier: GPL-2.0-or-later
"""The effect of a rig's inputs on a mean; the model is happe_contract.rig."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from happe_contract.measuring.budget import Contribution, Kind
from happe_contract.rig import Moments, Rig, values
from happe_contract.traces import Block, Channel


def contributions(rig: Rig, of: Moments) -> Iterator[Contribution]:
    """The contribution of each uncertain input to the mean's budget."""
    for each, sensitivity in rig.derivatives(of):
        off = each.quantity.standard_uncertainty
        if off > 0:
            yield Contribution(each.key, each.name, Kind.B, sensitivity, off, each.unit, each.quantity.source)


def zero_sensitivities(rig: Rig, of: Moments) -> tuple[tuple[Channel, float, float], ...]:
    """For each channel: watts per unit of its zero, and the gain from its input to that unit."""
    by_input = {each.key: sensitivity for each, sensitivity in rig.derivatives(of)}
    found = [(rig.channel, by_input[rig.zero.key], rig.gain.value)]
    if rig.supply:
        found.append((rig.supply, by_input[rig.supply_zero.key], rig.supply_gain.value))
    return tuple(found)


def columns(rig: Rig, blocks: Iterable[Block]) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64]]]:
    """First index, x and y of each block."""
    for block in blocks:
        x = values(rig.channel, block.columns[rig.column])
        if rig.supply is None or rig.supply_column is None:
            yield block.first_index, x, np.ones(len(x))
        else:
            yield block.first_index, x, values(rig.supply, block.columns[rig.supply_column])
