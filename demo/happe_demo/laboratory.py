# SPDX-License-Identifier: GPL-2.0-or-later
"""The laboratory. It has rigs, each with a laptop and a measuring host, where participants sit one after the other.

One thread does it all: it takes the next event and skips the time in between.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from happe_demo.children import Child
from happe_demo.laptop import SECOND, Laptop, Visit
from happe_demo.times import StudyTime

Json = dict[str, Any]

COMPARES_US = 600 * SECOND  # a real uploader does once a minute
MARGIN_US = 2 * SECOND  # of a trace, before and after a sitting
CHANGES_US = 300 * SECOND  # from one participant to the next


class Meter:
    """A measuring host: a process that takes commands."""

    def __init__(self, child: Child) -> None:
        """Start without a recording."""
        self.traces: list[Json] = []
        self._child = child
        self._asked = 0

    def compare(self) -> None:
        """Compare its clock with the server's."""
        self._child.tell({"do": "compare"})
        self._hear("clock")

    def record(self, said: Json) -> None:
        """Record and send in the background."""
        self._child.tell({"do": "record", **said})
        self._asked += 1

    def finish(self) -> Iterator[Json]:
        """Yield each trace once the server has sealed it."""
        yield from self.traces
        while len(self.traces) < self._asked:
            self._hear("trace")
            yield self.traces[-1]

    def _hear(self, kind: str) -> None:
        heard: Json = {}
        while heard.get("kind") != kind:
            heard = self._child.hear()
            if heard["kind"] == "trace":
                self.traces.append(heard)


@dataclass
class Rig:
    """A laptop, its measuring host, and the study time of their last comparison of clocks."""

    laptop: Laptop
    meter: Meter
    compared_us: int = 0


@dataclass(order=True)
class _Next:
    at_us: int
    number: int
    doing: Iterator[int] = field(compare=False)


class Laboratory:
    """Lets all participants come. It calls `run_done` with the number of finished runs."""

    def __init__(self, time: StudyTime, rigs: Sequence[Rig], run_done: Callable[[int], None]) -> None:
        """Start without participants."""
        self._time, self._rigs, self._run_done = time, rigs, run_done
        self._done = 0

    def hold(self, visits: Sequence[Visit]) -> None:
        """Let all of them come, in this order, each to the first free rig. Raises DemoError."""
        waiting = iter(visits)
        begins_us = self._time.now_us() + CHANGES_US
        events = [
            _Next(begins_us + number * CHANGES_US // len(self._rigs), number, self._day(rig, waiting))
            for number, rig in enumerate(self._rigs)
        ]
        heapq.heapify(events)
        while events:
            event = heapq.heappop(events)
            self._time.skip_to(event.at_us)
            following = next(event.doing, None)
            self._count()
            if following is not None:
                heapq.heappush(events, _Next(following, event.number, event.doing))

    def _day(self, rig: Rig, waiting: Iterator[Visit]) -> Iterator[int]:
        for visit in waiting:
            yield from self._sitting(rig, visit)
            yield self._time.now_us() + CHANGES_US

    def _sitting(self, rig: Rig, visit: Visit) -> Iterator[int]:
        """A sitting, measured from a little before it to a little after."""
        self._compare(rig)
        yield self._time.now_us() + MARGIN_US
        for at_us in rig.laptop.sitting(visit):
            yield at_us
            if self._time.now_us() - rig.compared_us >= COMPARES_US:
                self._compare(rig)
        yield self._time.now_us() + MARGIN_US
        self._compare(rig)
        steps, rig.laptop.power.steps = rig.laptop.power.steps, []
        until_us = self._time.now_us() - MARGIN_US // 2
        rig.meter.record({"measured": rig.laptop.device, "steps": steps, "until_us": until_us, "seed": visit.number})

    def _compare(self, rig: Rig) -> None:
        rig.meter.compare()
        rig.compared_us = self._time.now_us()

    def _count(self) -> None:
        done = sum(len(rig.laptop.played) for rig in self._rigs)
        if done > self._done:
            self._done = done
            self._run_done(done)
