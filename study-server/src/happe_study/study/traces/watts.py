# SPDX-License-Identifier: GPL-2.0-or-later
"""Watts from the columns of a part, by the rig in its trace's header (happe_contract.rig). Pure.

These watts are for charts. `happe-power measure` gives figures with their uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from happe_contract.calibration import from_header
from happe_contract.rig import Lack, NoWattsError, Rig, channels_of, rig_of, values
from happe_contract.traces import Measures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_contract.strict_json import Json

LACKS = {
    Lack.CHANNEL: "no channel gives watts",
    Lack.SHUNT: "the shunt was never measured",
    Lack.SUPPLY: "the supply is neither measured nor stated",
}
ONE = np.ones(1)


class NoPowerError(Exception):
    """The header is not enough to compute watts; the message says why."""


@dataclass(frozen=True)
class Meter:
    """The channels of a trace that give watts."""

    rig: Rig
    rate_hz: float

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The needed columns of a part: (name, type)."""
        return tuple((each.name, each.dtype.name) for each in (self.rig.channel, self.rig.supply) if each)

    def watts(self, raw: tuple[NDArray[np.generic], ...]) -> NDArray[np.float64]:
        """The watts of samples without a gap. The last sample of a counter of joules gets NaN."""
        x = values(self.rig.channel, raw[0])
        if self.rig.channel.measures is Measures.ENERGY:
            return np.append(self.rig.power(np.diff(x) * self.rate_hz, ONE), np.nan)
        return self.rig.power(x, values(self.rig.supply, raw[1]) if self.rig.supply else ONE)


def meter_of(header: Json) -> Meter:
    """The meter of a checked header. Raises NoPowerError."""
    try:
        return Meter(rig_of(channels_of(header), from_header(header["calibration"])), float(header["rate_hz"]))
    except NoWattsError as error:
        raise NoPowerError(LACKS[error.lack]) from None
