# SPDX-License-Identifier: GPL-2.0-or-later
"""The study's time: it runs like real time, but skips waiting, such as minutes of play.

So a request takes its real time, comparisons of clocks are good to a millisecond, and a day takes a minute. The study
begins in the past and catches up with the present at its end, because a new password must not be old.
"""

import mmap
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

OFFSET = struct.Struct("<q")  # microseconds: the study's time minus the wall clock
MILLION = 1_000_000


class StudyTime:
    """The wall clock of all processes of a demonstration: an offset to the real clock, in a shared file."""

    def __init__(self, path: Path) -> None:
        """Read the time from a file that `begin` has made. Raises OSError."""
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), OFFSET.size)

    @classmethod
    def begin(cls, path: Path, at_us: int) -> "StudyTime":
        """Make a time that is `at_us` now (microseconds since 1970). Raises OSError."""
        path.write_bytes(OFFSET.pack(at_us - _real_us()))
        return cls(path)

    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        offset: int = OFFSET.unpack_from(self._shared)[0]
        return _real_us() + offset

    def skip_to(self, at_us: int) -> None:
        """Set the time to `at_us` now, unless it is later already."""
        if at_us > self.now_us():
            OFFSET.pack_into(self._shared, 0, at_us - _real_us())

    def catch_up(self) -> None:
        """Continue with the real time, unless the study's time is later already."""
        OFFSET.pack_into(self._shared, 0, max(0, self.now_us() - _real_us()))


@dataclass(frozen=True)
class HostClock:
    """A host's CLOCK_MONOTONIC: `at_zero_us` when the study began, and too fast by `ppm`.

    `wall_us` is the error of its wall clock.
    """

    study: StudyTime
    begin_us: int
    at_zero_us: int
    ppm: float
    wall_us: int = 0

    def of(self, true_us: int) -> int:
        """The clock's reading at a study time."""
        return self.at_zero_us + round((true_us - self.begin_us) * (1 + self.ppm / MILLION))

    def now_us(self) -> int:
        """The clock's reading now."""
        return self.of(self.study.now_us())


def hasten_server(study: StudyTime) -> None:
    """Make happe_study use the study's time in this process, by replacing `time` in the one module that reads it."""
    from happe_study.base import clock  # noqa: PLC0415 - of the processes that need it

    vars(clock)["time"] = SimpleNamespace(time_ns=lambda: study.now_us() * 1000)


def hasten_uploads(host: HostClock) -> None:
    """Make happe_power use the host's clock in this process when it compares clocks with the server."""
    from happe_power.upload import clocks  # noqa: PLC0415 - of the processes that need it

    vars(clocks)["time"] = SimpleNamespace(monotonic_ns=lambda: host.now_us() * 1000)


def _real_us() -> int:
    return time.time_ns() // 1000
