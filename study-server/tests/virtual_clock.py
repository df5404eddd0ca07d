# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's clock in a test's hand."""

from dataclasses import dataclass


@dataclass
class Clock:
    """Stands in for the module `time` of `happe_study.base.clock`. `us`: microseconds since 1970."""

    us: int

    def time_ns(self) -> int:
        """As `time.time_ns`."""
        return self.us * 1000
