# SPDX-License-Identifier: GPL-2.0-or-later
"""Nordic's Power Profiler Kit II, with a fake on a pseudo-terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from ppk2_api import ppk2_api

from fake_ppk2 import RANGE, FakeKit
from happe_contract.traces import Measures, Reason
from happe_power import sources
from happe_power.source_kit import Taken, check_source, tended
from happe_power.sources.ppk2 import Amperes, Ppk2
from happe_power.sources.source import SourceError, UnpluggedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RATE_HZ = 500.0  # a real kit has 100,000: an hour of those does not go through a terminal in a test
NEAR = 100  # samples; a tenth of a second, which a start may take


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[FakeKit]:
    """A kit."""
    made = FakeKit(tmp_path / "ttyACM0", RATE_HZ)
    yield made
    if made.plugged:
        made.unplug()


def source_on(kit: FakeKit) -> Ppk2:
    """A source at the fake."""
    return Ppk2(ppk2_api, str(kit.path), 5.0, kit, RATE_HZ)


def library(kit: FakeKit) -> Any:  # noqa: ANN401 - it has no types
    """The library at the fake."""
    api = ppk2_api.PPK2_API(str(kit.path))
    assert api.get_modifiers()
    api.set_source_voltage(5000)
    api.ser.close()
    return api


def numbers_of(amperes: Amperes, taken: Taken, first: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the number of each row's sample, from its value modulo 16,384 and from the time of its index."""
    table = amperes(np.full(1 << 14, RANGE), np.arange(1 << 14))
    counts = np.searchsorted(table, taken.column(0))
    assert (table[counts] == taken.column(0)).all()
    due = first + taken.indices()
    return due + (counts - due + (1 << 13)) % (1 << 14) - (1 << 13)


def test_amperes_are_those_of_the_library(kit: FakeKit) -> None:
    source = source_on(kit)
    taken = check_source(source, reads=30)
    assert (taken.gaps, source.channels[0].measures) == ([], Measures.CURRENT)
    assert source.device.startswith("Power Profiler Kit II 9173 (")
    api = library(kit)
    amperes = Amperes(api.modifiers, 5.0)
    for current_range in range(5):
        for count in (0, 100, 16383):
            api.prev_range = None  # without its filter
            wanted = api.get_adc_result(current_range, 4 * count)
            assert amperes(np.array([current_range]), np.array([count]))[0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("lasts_s", [900, pytest.param(3600, marks=pytest.mark.long)])
def test_with_faults_each_sample_is_at_its_time_and_each_loss_a_gap(kit: FakeKit, lasts_s: int) -> None:
    amperes = Amperes(library(kit).modifiers, 5.0)
    source = source_on(kit)
    faults = ["", "words", "", "away", "", "bytes", "", "silent", "", "unplugged"]
    before = [""]

    def each(second: float) -> None:
        fault = faults[int(second / 30) % len(faults)]
        new, before[0] = fault != before[0], fault
        if kit.plugged is (fault == "unplugged"):
            (kit.unplug if kit.plugged else kit.plug)()
        kit.fault = fault if fault != "bytes" or new else ""
        if fault == "away" and new:
            kit.sleep(4.0)  # nobody reads

    first = kit.number
    taken = tended(source, kit, lasts_s, each, timeout_s=1.0)
    numbers = numbers_of(amperes, taken, first)
    # The source invents no row: each is a sample that the kit sent, occurs once, and is near the time of its index.
    assert (np.diff(numbers) > 0).all()
    assert np.isin(numbers, kit.sent).all()
    assert np.abs(numbers - first - taken.indices()).max() < NEAR
    # It records every loss: rows and gaps cover all indices, and almost every sample that arrived has a row.
    lost = {reason: sum(g.to_index - g.from_index for g in taken.gaps if g.reason is reason) for reason in Reason}
    assert taken.rows + sum(lost.values()) == taken.end_index == pytest.approx(lasts_s * RATE_HZ, abs=NEAR)
    turns = lasts_s // (30 * len(faults))
    assert lost[Reason.INVALID] == pytest.approx(turns * 30 * RATE_HZ / 200, rel=0.1)
    assert lost[Reason.OVERFLOW] == pytest.approx(turns * (5 * RATE_HZ - 512), rel=0.05)
    assert lost[Reason.UNPLUGGED] == pytest.approx(turns * 30 * RATE_HZ, rel=0.1)
    assert taken.rows > 0.97 * len(kit.sent)


def test_what_is_no_kit_is_told(kit: FakeKit, tmp_path: Path) -> None:
    with pytest.raises(UnpluggedError, match="nothing"):
        sources.make(f"ppk2:{tmp_path}/nothing")
    with pytest.raises(SourceError, match=r"volt=20 must be at most 5"):
        sources.make("ppk2,volt=20")
    source = source_on(kit)
    kit.unplug()
    with pytest.raises(UnpluggedError):
        source.start(0)
