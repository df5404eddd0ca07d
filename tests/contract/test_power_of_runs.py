# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server draws power by the arithmetic that the power logger measures it by, written a second time."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import happe_power.arithmetic.rig as measured
from happe_power.arithmetic.server_time import server_clock
from happe_power.arithmetic.time_base import RESTARTS, time_base
from happe_power.calibration import from_header
from happe_power.model import Channel, ClockEstimate, Gap, Measures, Reason, TimePair
from happe_power.recording.parts import Footer, encode
from happe_study.evidence.run_page import power
from happe_study.evidence.traces.part_files import BadPartError, head, samples
from happe_study.evidence.traces.time_line import time_line
from happe_study.evidence.traces.watts import NoWattsError, rig_of
from happe_study.people.devices.server_time import server_time

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def quantity(value: float) -> Json:
    return {"value": value, "standard_uncertainty": 0.001, "source": "made up"}


def channel(name: str, unit: str) -> Json:
    return {"name": name, "measures": name, "unit": unit, "dtype": "int16", "scale": 1.5e-4, "offset": 0.01}


SHUNT, SUPPLY = channel("shunt", "V"), channel("supply", "V")
CURRENT, POWER, ENERGY = channel("current", "A"), channel("power", "W"), channel("energy", "J")
NAMED: Json = {"name": "rig", "sha256": "0" * 64, "date": "2026-11-02", "expires": "2027-11-02"}
GAINS = {"shunt": {"gain": quantity(1.01), "zero": quantity(-0.002)}}
BEFORE, AFTER = ({"shunt": "return", "supply_measured": where} for where in ("before", "after"))
OHM, DIVIDER, VOLT = (
    {name: quantity(value)} for name, value in (("shunt_ohm", 0.1), ("divider", 3.0), ("supply_volt", 19.5))
)

RIGS: dict[str, tuple[list[Json], Json | None]] = {
    "before the shunt": ([SHUNT, SUPPLY], NAMED | OHM | DIVIDER | {"wiring": BEFORE, "channels": GAINS}),
    "after the shunt": ([SUPPLY, SHUNT], NAMED | OHM | DIVIDER | {"wiring": AFTER}),
    "nobody knows where": ([SHUNT, SUPPLY], NAMED | OHM),
    "a supply that is stated": ([SHUNT], NAMED | OHM | VOLT | {"wiring": AFTER, "channels": GAINS}),
    "a current": ([CURRENT, SUPPLY], NAMED | DIVIDER),
    "power": ([POWER], None),
    "power beside a shunt": ([POWER, SHUNT], NAMED | OHM | VOLT),
    "no shunt": ([SHUNT, SUPPLY], None),
    "no supply": ([SHUNT], NAMED | OHM),
    "nothing that gives watts": ([SUPPLY], NAMED),
}


@pytest.mark.parametrize("name", RIGS)
def test_a_header_gives_the_same_watts_or_none_to_both(name: str) -> None:
    listed, record = RIGS[name]
    header = {"channels": listed, "calibration": record, "rate_hz": 1000}
    channels = [
        Channel(
            each["name"],
            Measures(each["measures"]),
            each["unit"],
            np.dtype(each["dtype"]),
            each["scale"],
            each["offset"],
        )
        for each in listed
    ]
    expected = measured.rig_of(channels, from_header(record))
    if not isinstance(expected, measured.Rig):
        with pytest.raises(NoWattsError):
            rig_of(header)
        return
    raw = np.random.default_rng(1).integers(-30_000, 30_000, (2, 500)).astype(np.int16)
    by_name = dict(zip((each["name"] for each in listed), raw, strict=False))
    x = measured.values(expected.channel, by_name[expected.channel.name])
    y = measured.values(expected.supply, by_name[expected.supply.name]) if expected.supply else np.ones(len(x))
    drawn = rig_of(header)
    np.testing.assert_allclose(
        drawn.watts(tuple(by_name[name] for name, _dtype in drawn.columns)),
        expected.power(x, y),
        rtol=1e-12,
        atol=1e-12,
    )


def test_steps_of_a_counter_are_watts_of_the_sample_at_their_beginning() -> None:
    rig = rig_of({"channels": [ENERGY], "calibration": None, "rate_hz": 10})
    joules = np.array([0, 10, 30, 30], dtype=np.int16)
    np.testing.assert_allclose(rig.watts((joules,))[:-1], np.diff(joules) * 1.5e-4 * 10)
    assert np.isnan(rig.watts((joules,))[-1])


@dataclass(frozen=True)
class Said:
    """A clock estimate as the server has it."""

    device_us: int
    offset_us: int
    uncertainty_us: int


@pytest.mark.parametrize("uncertain_us", [(500,), (500, 500, 400, 700), (500, 800_000, 30_000)], ids=str)
def test_both_have_the_same_offset_of_a_clock_and_the_same_bound(uncertain_us: tuple[int, ...]) -> None:
    random = Random(3)
    said = []
    for at in range(1, 9):
        most = random.choice(uncertain_us)
        said.append(Said(at * 60_000_000, 5_000_000 + at * 40 + random.randrange(-most, most) // 3, most))
    said += [said[2], Said(said[2].device_us, said[2].offset_us, said[2].uncertainty_us + 1)]
    ours = server_time(said)
    theirs = server_clock("monotonic:x", [ClockEstimate(s.device_us, s.offset_us, s.uncertainty_us) for s in said])
    assert ours
    assert theirs
    for _ in range(200):
        at = random.randrange(0, 700_000_000)
        assert ours.server_us(at) == pytest.approx(theirs.server_us(at), abs=1)
        assert ours.device_us(ours.server_us(at)) == pytest.approx(at, abs=1)
        bound = sum(part.weight * part.half_width_us for part in theirs.parts(at))
        assert ours.offset(at).bound_us == pytest.approx(bound, abs=1)


def test_both_find_the_time_of_a_sample_within_their_bounds() -> None:
    """A card that is 80 ppm off, read late by up to 3 ms, over twenty minutes."""
    random, rate_hz, truly_hz = Random(5), 100_000, 100_008
    pairs = [
        (index, round(1e6 * index / truly_hz + 1000 + random.choice([0, 5, 3000]) * random.random()))
        for index in range(0, 1200 * rate_hz, rate_hz)
    ]
    ours = time_line(pairs, rate_hz)
    theirs = time_base([TimePair(index, us, us) for index, us in pairs], [], rate_hz)
    for index in range(0, 1200 * rate_hz, 1_234_567):
        truth = 1e6 * index / truly_hz + 1000
        assert abs(ours.us(index) - truth) <= ours.bound_us
        assert abs(theirs.monotonic_us(index) - ours.us(index)) <= ours.bound_us + theirs.half_width_us(index)
        assert ours.index(ours.us(index)) == pytest.approx(index, abs=0.01)


def test_both_lay_a_line_through_each_piece_between_restarts() -> None:
    """Ten minutes of a card that is 80 ppm off; at the eighth it stalls, and 20 ms too few are taken for lost.

    Before that 4 s could not be stored, while it counted on; after it, it is unplugged twice, the last time for good.
    """
    random, rate_hz, truly_hz = Random(5), 10_000, 10_000.8
    restarts = [(480 * rate_hz, 482 * rate_hz), (540 * rate_hz, 540 * rate_hz + 7), (610 * rate_hz, 611 * rate_hz)]
    late_us = [1000, 21_000, 21_000 + 90_000]

    def truth(index: float) -> float:
        return 1e6 * index / truly_hz + late_us[sum(index >= end for _, end in restarts[:2])]

    within = [index for index in range(0, 600 * rate_hz, rate_hz) if not any(a < index < b for a, b in restarts)]
    pairs = [(index, round(truth(index) + random.choice([0, 5, 3000]) * random.random())) for index in within]
    gaps = [Gap(begin, end, Reason.UNPLUGGED) for begin, end in restarts]
    ours = time_line(pairs, rate_hz, restarts)
    theirs = time_base(
        [TimePair(index, us, us) for index, us in pairs], [Gap(100, 40_100, Reason.STORAGE), *gaps], rate_hz
    )
    assert ours.bound_us < 2000
    for index in range(0, 600 * rate_hz, 12_347):
        if not any(begin <= index < end for begin, end in restarts):
            assert abs(ours.us(index) - truth(index)) <= ours.bound_us
            assert abs(theirs.monotonic_us(index) - ours.us(index)) <= ours.bound_us + theirs.half_width_us(index)
        assert ours.index(ours.us(index)) == pytest.approx(index, abs=0.01)
    assert {str(reason) for reason in RESTARTS} == power.RESTARTS
    # One line through all of it would be off by more than it says
    last = 590 * rate_hz
    assert abs(time_line(pairs, rate_hz).us(last) - truth(last)) > 10 * time_line(pairs, rate_hz).bound_us


def test_a_single_pair_goes_by_the_nominal_rate() -> None:
    line = time_line([(1000, 5_000_000)], 1000)
    assert line.us(2000) == pytest.approx(6_000_000)


def test_the_server_reads_the_parts_that_the_logger_writes(tmp_path: Path) -> None:
    channels = [Channel("shunt", Measures.SHUNT, "V", np.dtype("int16"), 1e-4, 0.0)]
    raw = np.arange(-500, 500, dtype=np.int16)
    footer = Footer("2b1e5a52-8f6c-4f0e-9c57-0a8d1d1c3b11", 4, ((100, 400), (700, 600)), (TimePair(100, 5, 9),))
    path = tmp_path / "00004.parquet"
    path.write_bytes(encode(channels, [raw], footer))
    found = head(path, footer.trace, 4)
    assert (found.runs, found.pairs) == (footer.runs, ((100, 5),))
    ((row, (column,)),) = samples(path, 4, [("shunt", "int16")])
    assert row == 0
    np.testing.assert_array_equal(column, raw)
    with pytest.raises(BadPartError, match="part 4 has no column supply of int16"):
        list(samples(path, 4, [("supply", "int16")]))
