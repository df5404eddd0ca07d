# SPDX-License-Identifier: GPL-2.0-or-later
"""Zero checks by a relay during a recording."""

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from given_sources import SHUNT, Given, pair_at
from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording import zero_check
from happe_power.recording.zero_check import CHECK_S, SETTLE_S, Relay, SwitchError, Zeroing
from happe_power.sources.source import Reading
from happe_power.trace import Trace
from power_program import happe_power, source_file

RATE_HZ, ROWS = 1000.0, 100
LAPTOP, ZERO = 2000, 7  # counts


@dataclass
class Bench(Given):
    """An instrument whose inputs a relay shorts. The relay takes 0.2 s to switch; meanwhile every reading is 999."""

    readings: Iterable[Reading | Exception] = ()
    shorted: bool = True
    fails: set[bool] = field(default_factory=set)
    switched: list[tuple[int, bool]] = field(default_factory=list)
    index: int = 0

    def switch(self, *, on: bool) -> None:
        """Switch like a Relay."""
        if on in self.fails:
            raise SwitchError("the relay clicks no more")
        self.shorted = on
        self.switched.append((self.index, on))

    def start(self, first_index: int) -> TimePair:
        """Begin."""
        self.index = first_index
        return super().start(first_index)

    def read(self, timeout_s: float) -> Reading:  # noqa: ARG002 - it never waits
        """Return a tenth of a second."""
        level = ZERO if self.shorted else LAPTOP
        if self.switched and self.index - self.switched[-1][0] < 200:
            level = 999
        noise = np.random.default_rng(self.index).integers(-3, 4, ROWS)
        columns = (np.full(ROWS, level) + noise, np.full(ROWS, 100))
        block = Block(self.index, tuple(column.astype(np.int16) for column in columns))
        self.index = block.end_index
        return Reading((block,), pair_at(block.end_index, RATE_HZ))


def played(bench: Bench, seconds: float, every_s: float) -> tuple[Zeroing, list[Block | Gap]]:
    """Record for some seconds, with a check every so often, and return all results."""
    zeroing = Zeroing(bench, bench.switch, every_s)
    zeroing.start(0)
    items: list[Block | Gap] = []
    while zeroing.next_index < seconds * RATE_HZ:
        items += zeroing.read(0.1).items
    return zeroing, [*items, *zeroing.finish().items]


def test_a_meter_that_only_loses_samples_does_not_hold_a_recording_up() -> None:
    gaps = (Reading((Gap(second, second + 1, Reason.INVALID),), None) for second in itertools.count())
    with pytest.raises(ValueError, match="fewer than two samples"):
        zero_check.take(Given(gaps, rate_hz=1.0))


def test_the_zero_is_read_at_the_beginning_in_between_and_at_the_end_and_is_no_power() -> None:
    # Given a recording of twenty seconds with a zero check every eight seconds
    bench = Bench()
    zeroing, items = played(bench, 20, 8)
    # Then each check has only the zero, and no sample from the relay's moves
    assert [reading.samples for reading in zeroing.readings] == [round(CHECK_S * RATE_HZ)] * 4
    assert [reading.mean for reading in zeroing.readings] == pytest.approx([ZERO * SHUNT.scale] * 4, rel=0.1)
    assert [at for at, on in bench.switched if on] == [0, 8000, 16_000, 20_000]
    assert bench.shorted is False
    # And every kept sample is the laptop's
    kept = np.concatenate([item.columns[0] for item in items if isinstance(item, Block)])
    assert np.abs(kept - LAPTOP).max() <= 3
    gaps = [item for item in items if isinstance(item, Gap)]
    assert {gap.reason for gap in gaps} == {Reason.ZERO}
    each = round((SETTLE_S + CHECK_S + SETTLE_S) * RATE_HZ)
    assert sum(gap.to_index - gap.from_index for gap in gaps) == 4 * each - round(SETTLE_S * RATE_HZ)
    assert len(kept) + 4 * each - round(SETTLE_S * RATE_HZ) == items[-1].to_index  # type: ignore[union-attr] # a gap


def test_a_relay_that_does_not_close_costs_the_check_alone() -> None:
    bench = Bench(shorted=False, fails={True})
    zeroing, items = played(bench, 5, 2)
    assert zeroing.readings == []
    assert zeroing.failed[0] == "the relay clicks no more"
    assert all(isinstance(item, Block) for item in items)


def test_while_a_relay_does_not_open_nothing_counts_as_power() -> None:
    # Given a relay that sticks after the first check, until second six
    bench = Bench()
    zeroing = Zeroing(bench, bench.switch)
    zeroing.start(0)
    bench.fails = {False}
    items: list[Block | Gap] = []
    while zeroing.next_index < 10_000:
        items += zeroing.read(0.1).items
        if zeroing.next_index == 6000:
            assert zeroing.trouble == "the inputs are still shorted: the relay clicks no more"
            bench.fails = set()
    # Then all samples until then become a gap, the recorder reports it once, and the recording continues by itself
    kept = [item for item in items if isinstance(item, Block)]
    assert 6000 < kept[0].first_index <= 7500
    assert np.abs(np.concatenate([item.columns[0] for item in kept]) - LAPTOP).max() <= 3
    assert zeroing.failed == ["the inputs are still shorted: the relay clicks no more"]
    assert zeroing.trouble == ""


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "names no command"),
        ('a "b', "No closing quotation"),
        ("/nowhere/relay", "No such file"),
        ("false", "exit status 1"),
    ],
)
def test_a_switch_that_is_none_is_refused_before_the_recording(tmp_path: Path, command: str, says: str) -> None:
    what = ("--source", source_file(tmp_path, pace="none"), "--study", "t", "--spool", tmp_path, "--no-upload")
    ran = happe_power("record", *what, "--zero-switch", command)
    assert ran.status == 69
    assert says in ran.err
    assert not list(tmp_path.glob("*/*"))
    with pytest.raises(SwitchError):
        Relay(command)(on=True)


def test_record_keeps_the_relays_checks_beside_the_trace_and_counts_nothing_as_lost(tmp_path: Path) -> None:
    # Given a script in place of a relay, which notes its arguments
    relay = tmp_path / "relay.sh"
    relay.write_text(f'#!/bin/sh\necho "$1" >>{tmp_path}/told\n')
    relay.chmod(0o755)
    # When a service records, with nobody there
    source = source_file(tmp_path, rate=1000, pace="none", khz=800000, utilisation=0)
    what = ("--source", source, "--study", "t", "--spool", tmp_path / "spool", "--no-upload", "--duration", "30s")
    ran = happe_power("record", *what, "--zero-switch", str(relay), "--zero-every", "12s")
    # Then the relay opens first, and closes and opens for each check
    assert (ran.status, "zero check: shunt: zero is off by" in ran.err) == (0, True)
    assert (tmp_path / "told").read_text().split() == ["off", *["on", "off"] * 4]
    (folder,) = (tmp_path / "spool/t").iterdir()
    trace = Trace.open(folder)
    assert trace.manifest is not None
    assert {gap["reason"] for gap in trace.manifest["gaps"]} == {"zero"}
    readings = json.loads((folder / zero_check.NAME).read_text())["during"]
    assert [each["mean"] for each in readings] == pytest.approx([24.4 / 20 * 0.1] * 4, rel=1e-3)
