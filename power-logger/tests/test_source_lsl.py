# SPDX-License-Identifier: GPL-2.0-or-later
"""Lab Streaming Layer: streams of a simulated network, and of the real library on loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from happe_contract.traces import Reason
from happe_power.source_kit import check_source, tended
from happe_power.sources import KINDS, spec
from happe_power.sources.clock import MICROS, VirtualClock
from happe_power.sources.lsl import Lsl
from happe_power.sources.source import SourceError, UnpluggedError
from patience import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

RATE_HZ = 100.0


@dataclass
class FakeLsl:
    """The module pylsl, an inlet, and a stream's description in one. A sample's value is its number by the clock.

    `fault`: drop (the first 30 of 1,000 samples are lost), late (one of 50 times is 25 periods late), slow (10 s
    without samples, then all of them), nan, unplugged.
    """

    clock: VirtualClock
    fault: str = ""
    labels: tuple[str, ...] = ("shunt", "supply")
    rate_hz: float = RATE_HZ
    format: int = 2
    sent: list[int] = field(default_factory=list)
    proc_clocksync: int = 1
    next: int = 0

    @property
    def number(self) -> int:
        """Return the number of the present sample."""
        return round(self.clock.now().monotonic_us * RATE_HZ / MICROS)

    def resolve_byprop(self, _name: str, value: str, _least: int, _timeout: float) -> list[FakeLsl]:
        """Find the stream."""
        return [] if self.fault == "unplugged" or value != "Meter" else [self]

    def StreamInlet(self, _info: object, **_options: object) -> FakeLsl:  # noqa: N802 - pylsl's
        """Subscribe."""
        return self

    def info(self, _timeout: float) -> FakeLsl:
        """The description."""
        return self

    def get_channel_labels(self) -> tuple[str, ...]:
        """The labels."""
        return self.labels

    def channel_count(self) -> int:
        """How many channels."""
        return len(self.labels)

    def channel_format(self) -> int:
        """As pylsl's cf_..."""
        return self.format

    def nominal_srate(self) -> float:
        """The rate."""
        return self.rate_hz

    def hostname(self) -> str:
        """Whose it is."""
        return "bench"

    def source_id(self) -> str:
        """The stream's id."""
        return "meter-7"

    def open_stream(self, _timeout: float) -> None:
        """Begin."""
        self.next = self.number

    def close_stream(self) -> None:
        """End."""

    def pull_chunk(self, timeout: float, _most: int, dest_obj: np.ndarray[Any, Any]) -> tuple[None, list[float]]:
        """Return the samples that have come."""
        self.clock.sleep(timeout)
        if self.fault == "unplugged":
            raise RuntimeError("the stream has been lost")
        if self.fault == "slow" and self.number % 2000 < 1000:
            return None, []
        numbers = np.arange(self.next, self.number)
        self.next = self.number
        if self.fault == "drop":
            numbers = numbers[numbers % 1000 >= 30]
        self.sent += numbers.tolist()
        late = 25 * ((numbers % 50 == 7) & (self.fault == "late"))
        values = np.where(self.fault == "nan", np.nan, numbers.astype(float))
        dest_obj[: len(numbers)] = values[:, None]
        return None, ((numbers + late) / RATE_HZ).tolist()


def source_on(fake: FakeLsl, text: str = "lsl:Meter") -> Lsl:
    """A source at the fake."""
    _, said = spec.parse(text, KINDS)
    return Lsl(fake, said.place, said, fake.clock)


def test_labels_units_and_rate_are_the_streams() -> None:
    source = source_on(FakeLsl(VirtualClock()), "lsl:Meter,channels=supply,measures=power,scale=0.001")
    taken = check_source(source)
    assert (source.device, source.serial, source.rate_hz) == ("LSL Meter of bench", "meter-7", RATE_HZ)
    assert (source.channels[0].name, source.channels[0].scale, taken.gaps) == ("power", 0.001, [])


@pytest.mark.parametrize(
    ("text", "changed", "said"),
    [
        ("lsl:Other", {}, "no stream on the network is called 'Other'"),
        ("lsl:Meter", {"format": 3}, "has text or bytes, no measurements"),
        ("lsl:Meter", {"rate_hz": 0.0}, "the stream has no rate of its own; say rate="),
        ("lsl:Meter,channels=volts", {}, "there is not one channel 'volts'; there are shunt, supply"),
        ("lsl:Meter,channels=a", {"labels": ("a", "a")}, "there is not one channel 'a'"),
        ("lsl:Meter,measures=power", {}, "say what each of the 2 channels measures"),
    ],
)
def test_what_cannot_be_recorded_is_told(text: str, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(SourceError) as error:
        source_on(FakeLsl(VirtualClock(), **changed), text)
    assert said in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("lasts_s", [1080, pytest.param(3600, marks=pytest.mark.long)])
def test_with_faults_each_sample_is_at_its_time_and_each_loss_a_gap(lasts_s: int) -> None:
    fake = FakeLsl(VirtualClock())
    source = source_on(fake)
    faults = ["", "drop", "", "late", "", "unplugged", "", "slow", ""]

    def each(second: float) -> None:
        fake.fault = faults[int(second / 40) % len(faults)]

    first = fake.number
    taken = tended(source, fake.clock, lasts_s, each)
    numbers = taken.column(0).astype(np.int64)
    # The source invents no row: each is a sent sample, occurs once, and is near the time of its index.
    assert (np.diff(numbers) > 0).all()
    assert np.isin(numbers, fake.sent).all()
    assert np.abs(numbers - first - taken.indices()).max() <= 2
    # It records every loss: rows and gaps cover all indices.
    lost = {reason: sum(g.to_index - g.from_index for g in taken.gaps if g.reason is reason) for reason in Reason}
    assert taken.rows + sum(lost.values()) == taken.end_index
    turns = lasts_s / (40 * len(faults))
    assert lost[Reason.UNPLUGGED] == pytest.approx(turns * 40 * RATE_HZ, rel=0.1)
    assert turns * (4 * 30 + 2 * 7 * RATE_HZ) < lost[Reason.STALL] < turns * (4 * 30 + 2 * 10 * RATE_HZ)
    assert taken.rows > 0.98 * (lasts_s * RATE_HZ - sum(lost.values()))


def test_a_time_that_is_late_loses_nothing_and_what_is_no_number_is_for_the_recorder() -> None:
    fake = FakeLsl(VirtualClock(), fault="late")
    assert tended(source_on(fake), fake.clock, 60, lambda _second: None).gaps == []
    fake.fault = "nan"
    assert np.isnan(check_source(source_on(fake)).column(0)).all()


def test_a_stream_that_changes_is_refused() -> None:
    fake = FakeLsl(VirtualClock())
    source = source_on(fake)
    fake.labels = ("one",)
    with pytest.raises(SourceError, match="has other channels than before"):
        source.start(0)
    fake.fault = "unplugged"
    with pytest.raises(UnpluggedError):
        source.start(0)


LOOPBACK = (
    "[ports]\nIPv6 = disable\n[multicast]\nResolveScope = machine\n[lab]\nKnownPeers = {127.0.0.1}\n[log]\nlevel = -3\n"
)
BOTH_WAYS = """
import sys, time
from pathlib import Path
import numpy as np
from happe_power import sources
from happe_power.source_kit import Taken
from happe_power.sources.lsl import Published, package
name = sys.argv[1]
out = Published(sources.make("sim,rate=200,noise=0.1,seed=3"), package(), name)
into = sources.make(f"lsl:{name},bandwidth=80")
until = time.monotonic() + float(sys.argv[2])
sent, came = Taken(out.start(0)), Taken(into.start(0))
while came.rows < 400:
    sent.add(out.read(0.1))
    came.add(into.read(0.1))
    assert time.monotonic() < until
assert [channel.name for channel in into.channels] == ["shunt", "supply"] and into.rate_hz == 200
volts = (sent.column(0) * out.channels[0].scale).astype(np.float32)
first = int(np.flatnonzero(volts == came.column(0)[0])[0])
assert (volts[first : first + came.rows] == came.column(0)).all()
assert came.gaps == []
# An index's time is the same on both sides, except for where each began.
at, of = came.pairs[-1], sent.pairs[-1]
assert abs((at.monotonic_us - of.monotonic_us) / 1e6 - (at.index + first - of.index) / 200) < 0.05
into.stop()
out.stop()
"""


def test_what_is_published_on_loopback_is_what_a_listener_records(tmp_path: Path) -> None:
    (tmp_path / "lsl.cfg").write_text(LOOPBACK)
    environment = os.environ | {"LSLAPICFG": str(tmp_path / "lsl.cfg"), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-c", BOTH_WAYS, f"Meter-{os.getpid()}", str(PATIENCE_S / 2)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (ran.returncode, ran.stderr) == (0, "")
