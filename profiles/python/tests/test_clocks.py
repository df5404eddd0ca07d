# SPDX-License-Identifier: GPL-2.0-or-later
"""The offset of a device's clock from four timestamps, against simulated exchanges whose offset is known."""

import json
from fractions import Fraction
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_contract.clocks import LATEST_US, MOST_PROBES, MOST_ROUND_TRIP_US, Estimate, Probe, estimate
from happe_contract.faults import BadDocumentError

START = 10**15

microseconds = st.fractions(0, 2_000_000, max_denominator=1000)
offsets = st.fractions(-(10**15), 10**15, max_denominator=1000)


def exchange(at: Fraction, offset: Fraction, there: Fraction, work: Fraction, back: Fraction) -> list[int]:
    """A probe made when the device's clock says `at`; clocks are read in whole microseconds, rounded down."""
    t1 = at + there + offset
    return [floor(at), floor(t1), floor(t1 + work), floor(at + there + work + back)]


@given(offsets, st.lists(st.tuples(microseconds, microseconds, microseconds), min_size=1, max_size=MOST_PROBES))
def test_the_true_offset_is_within_the_uncertainty_for_any_delays(
    offset: Fraction, delays: list[tuple[Fraction, Fraction, Fraction]]
) -> None:
    at, probes = Fraction(2 * START), []
    for there, work, back in delays:
        probes.append(exchange(at, offset, there, work, back))
        at += there + work + back + 1

    found = estimate(probes)

    assert abs(offset - found.offset_us) <= found.uncertainty_us
    least = min(there + back for there, _, back in delays)
    assert found.uncertainty_us <= least / 2 + 4  # four readings, each up to a microsecond too low


def test_the_probe_of_least_round_trip_counts() -> None:
    probes = [[1000, 6000, 6010, 1400], [2000, 7030, 7040, 2050], [3000, 8100, 8110, 3300]]
    # round trips 390, 40, 290; the middle of [7040 - 2050, 7030 - 2000] is 5010
    assert estimate(probes) == Estimate(offset_us=5010, uncertainty_us=21, device_us=2025, server_us=7035, probes=3)


def test_an_exchange_that_took_no_time_has_the_uncertainty_of_a_reading() -> None:
    assert Probe(5, 105, 105, 5).uncertainty_us == 1
    assert Probe(5, 105, 105, 5).offset_us == 100


GOOD = [1000, 6000, 6010, 1400]
ORDER = "must not be before"


@pytest.mark.parametrize(
    ("probes", "pointer", "why"),
    [
        ([], "/probes", "must be 1 to 64 probes"),
        ([GOOD] * 65, "/probes", "must be 1 to 64 probes"),
        ([[1, 2, 3]], "/probes/0", "must be four times"),
        ([[1, 2, 3, 4, 5]], "/probes/0", "must be four times"),
        ([[-1, 2, 3, 4]], "/probes/0/0", "must be an integer from 0"),
        ([[1, 2, 3, LATEST_US + 1]], "/probes/0/3", "must be an integer from 0"),
        ([[1, 2, 3.0, 4]], "/probes/0/2", "must be an integer from 0"),
        ([[1, True, 3, 4]], "/probes/0/1", "must be an integer from 0"),
        ([[1, "2", 3, 4]], "/probes/0/1", "must be an integer from 0"),
        ([[1, None, 3, 4]], "/probes/0/1", "must be an integer from 0"),
        ([[1400, 6000, 6010, 1399]], "/probes/0/3", ORDER),
        ([[1000, 6010, 6009, 1400]], "/probes/0/2", ORDER),
        ([[1000, 6000, 6402, 1400]], "/probes/0", "took the server longer"),
        ([[0, 0, 0, MOST_ROUND_TRIP_US + 1]], "/probes/0", "has a round trip of more"),
        ([GOOD, [1399, 6399, 6400, 1500]], "/probes/1/0", ORDER),
        ([GOOD, [1400, 6500, 6510, 1399]], "/probes/1/3", ORDER),
        ([GOOD, [3_600_000_601, 3_600_005_601, 3_600_005_611, 3_600_001_001]], "/probes", "must be within"),
        ([GOOD, [2000, 8_007_000, 8_007_010, 2400]], "/probes/1", "a clock was set"),
    ],
)
def test_probes_that_cannot_be_are_told(probes: list[list[int]], pointer: str, why: str) -> None:
    with pytest.raises(BadDocumentError) as caught:
        estimate(probes)
    assert caught.value.faults[0].pointer == pointer
    assert why in caught.value.faults[0].detail


@given(st.integers(2, 20), st.data())
def test_a_clock_set_by_more_than_the_delays_hide_is_noticed(count: int, data: st.DataObject) -> None:
    step_at = data.draw(st.integers(1, count - 1))
    step = data.draw(st.sampled_from([-1, 1])) * data.draw(st.integers(200_000, 10**12))
    probes = []
    for number in range(count):
        offset = Fraction(10**13 + (step if number >= step_at else 0))
        probes.append(
            exchange(Fraction(START + number * 1_000_000), offset, Fraction(40_000), Fraction(9), Fraction(2))
        )
    with pytest.raises(BadDocumentError, match="a clock was set"):
        estimate(probes)


def test_clocks_that_drift_by_what_clocks_do_are_no_clocks_that_were_set() -> None:
    drift = Fraction(100, 1_000_000)
    probes = [
        exchange(Fraction(START + second * 10_000_000), 10**13 + second * 10_000_000 * drift, *[Fraction(100)] * 3)
        for second in range(16)
    ]
    assert estimate(probes).probes == 16


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=30))
def test_lists_of_anything_are_read_or_refused(values: object) -> None:
    probes = json.loads(json.dumps(values if isinstance(values, list) else [values]))
    try:
        estimate([each if isinstance(each, list) else [each] for each in probes])
    except BadDocumentError as bad:
        assert bad.faults  # noqa: PT017 - either outcome is right
