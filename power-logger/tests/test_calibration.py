# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibration records: how HAPPE reads, writes and makes them from a known load, and their uncertainty."""

import dataclasses
import datetime as dt
import hashlib
import json
import math
from pathlib import Path

import pytest
from jsonschema_rs import Draft202012Validator, Registry

from given_truths import RECORD, SHUNT, SUPPLY, known, rig
from happe_contract.calibration import (
    NOT_MEASURED,
    Calibration,
    ShuntLine,
    Standing,
    SupplyTap,
    Wiring,
    from_header,
    standing,
)
from happe_contract.measuring.zeros import ZeroReading
from happe_contract.traces import Channel, Filter, Measures
from happe_power.calibration import parse, to_toml
from happe_power.known_load import Load, LoadError, Readings, outcome
from happe_power.toml_files import TomlFileError

SCHEMAS = Path(__file__).parents[2] / "profiles/schema"


def test_a_record_is_read_as_it_was_written() -> None:
    stated = dataclasses.replace(
        RECORD.channels["shunt"],
        noise=known(1e-5, 1e-7),
        flicker=known(1e-6, 2e-7),
        drift=known(0, 3e-6),
        resolution=known(1e-5, 0),
        filter=Filter("1 kOhm, 10 uF", 16.0, 2, ripple=2e-3),
    )
    record = dataclasses.replace(RECORD, channels={**RECORD.channels, "shunt": stated}, supply_volt=known(20, 0.5))
    content = to_toml(record).encode()
    read = parse(content, "rig.toml")
    assert read == dataclasses.replace(record, sha256=hashlib.sha256(content).hexdigest())


def test_the_header_has_the_record_in_the_schemas_shape() -> None:
    schemas = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.schema.json")}
    registry = Registry([(each["$id"], each) for each in schemas.values()])
    pointer = schemas["power-trace.schema.json"]["$id"] + "#/$defs/calibration"
    validator = Draft202012Validator({"$ref": pointer}, registry=registry, offline=True)
    header = RECORD.to_header()
    assert validator.is_valid(header)
    assert not validator.is_valid({**header, "sha256": "no digest"})
    back = from_header(header)
    assert back == RECORD
    assert from_header(None) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "rig"\n', "", 'rig.toml:1: lacks "name"'),
        ('name = "rig"', "name = 3", "rig.toml:2: name: must be a string"),
        ("date = 2026-10-01", 'date = "soon"', "rig.toml:3: date: does not match"),
        ("date = 2026-10-01", 'date = "2026-02-30"', "rig.toml:3: date: is no day of the calendar"),
        ("expires = 2027-10-01", "expires = 2100-01-01", "rig.toml:4: expires: does not match"),
        ("expires = 2027-10-01", "expires = 2026-10-01", "rig.toml:4: expires: must be after date"),
        ('shunt = "return"', 'shunt = "none"', 'wiring.shunt: must be one of "return", "supply"'),
        ("value = 0.1002", "value = 0", "rig.toml:11: shunt_ohm.value: must be more than 0"),
        ("value = 0.1002", "value = nan", "rig.toml:11: shunt_ohm.value: must be a number"),
        ("value = 0.1002", 'value = "0.1"', "rig.toml:11: shunt_ohm.value: must be a number"),
        ("value = 0.1002", "value = true", "rig.toml:11: shunt_ohm.value: must be a number"),
        ("value = 0.1002", "ohm = 0.1002", 'shunt_ohm: has an unknown field "ohm"'),
        ("standard_uncertainty = 6e-05", "standard_uncertainty = -1", "must be at least 0"),
        ("[channels.supply.zero]", "[channels.supply.nought]", 'channels.supply: lacks "zero"'),
        ("[channels.supply.zero]", "[channels.Supply.zero]", 'channels: has an unknown field "Supply"'),
        ("[divider]", "[dividers]", 'has an unknown field "dividers"'),
        ("[divider]", "[divider", "rig.toml:15: "),
    ],
)
def test_what_is_wrong_with_a_record_is_said_with_its_line(old: str, new: str, said: str) -> None:
    text = to_toml(RECORD)
    assert old in text
    with pytest.raises(TomlFileError) as told:
        parse(text.replace(old, new, 1).encode(), "rig.toml")
    assert said in str(told.value)


def test_all_that_is_wrong_is_said_at_once() -> None:
    text = to_toml(RECORD).replace("value = 0.1002", "value = nan").replace('name = "rig"', 'name = ""')
    with pytest.raises(TomlFileError) as told:
        parse(text.encode(), "rig.toml")
    assert len(str(told.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("record", "day", "worth", "says"),
    [
        (RECORD, "2026-10-01", Standing.GOOD, "rig of 2026-10-01, until 2027-10-01"),
        (RECORD, "2027-09-30", Standing.GOOD, "until"),
        (RECORD, "2027-10-01", Standing.EXPIRED, "EXPIRED on 2027-10-01"),
        (RECORD, "2026-09-30", Standing.FUTURE, "AFTER the measurement"),
        (None, "2026-10-01", Standing.MISSING, "NO CALIBRATION"),
    ],
)
def test_a_record_is_good_from_its_date_to_the_day_before_it_expires(
    record: Calibration | None, day: str, worth: Standing, says: str
) -> None:
    found, sentence = standing(record, dt.date.fromisoformat(day))
    assert found is worth
    assert says in sentence


def reading(name: str, mean: float, uncertainty: float = 0.0) -> ZeroReading:
    return ZeroReading(name, 0, mean, uncertainty, 1e-4, 50.0, 1000)


def both(channel: Channel, zero: float, load: float | None, uncertainty: float = 0.0) -> Readings:
    under = None if load is None else reading(channel.name, load, uncertainty)
    return Readings(channel, reading(channel.name, zero), under)


BEFORE = Wiring(ShuntLine.RETURN, SupplyTap.BEFORE)
AFTER = Wiring(ShuntLine.RETURN, SupplyTap.AFTER)
LOAD = Load(known(10.0, 0.01), known(20.0, 0.02))  # 2 A, 40 W


@pytest.mark.parametrize(("wiring", "tap"), [(BEFORE, 20.2), (AFTER, 20.0)])
def test_shunt_and_divider_follow_from_a_known_load(wiring: Wiring, tap: float) -> None:
    # Given a shunt of 0.1 ohm and a divider of 4, zeros of 1 and 2 mV
    given = [both(SHUNT, 1e-3, 0.2 + 1e-3), both(SUPPLY, 2e-3, tap / 4 + 2e-3)]
    found = outcome(given, LOAD, wiring)
    assert found.shunt_ohm is not None
    assert found.divider is not None
    assert found.shunt_ohm.value == pytest.approx(0.1)
    assert found.divider.value == pytest.approx(4)
    assert [each.zero.value for each in found.channels.values()] == [-1e-3, -2e-3]
    # And power is proportional to U squared over r: u(P) / P = hypot(2 u(U) / U, u(r) / r)
    relative = math.hypot(
        found.shunt_ohm.standard_uncertainty / found.shunt_ohm.value,
        found.divider.standard_uncertainty / found.divider.value,
    )
    assert relative == pytest.approx(math.hypot(2 * 0.001, 0.001))


@pytest.mark.parametrize(("measures", "true"), [(Measures.CURRENT, 2.0), (Measures.POWER, 40.0)])
def test_the_gain_of_amperes_and_watts_follows_from_a_known_load(measures: Measures, true: float) -> None:
    channel = dataclasses.replace(SHUNT, name="ina", measures=measures)
    found = outcome([both(channel, 0.01, 0.99 * true + 0.01)], LOAD, None).channels["ina"]
    assert found.gain.value == pytest.approx(1 / 0.99)
    assert found.zero.value == pytest.approx(-0.01 / 0.99)
    assert found.noise is not None
    assert found.noise.standard_uncertainty == pytest.approx(1e-4 / 10)


def test_without_a_load_there_are_zeros_alone() -> None:
    found = outcome([both(SHUNT, 1e-3, None)], None, BEFORE)
    assert (found.shunt_ohm, found.divider) == (None, None)
    assert found.channels["shunt"].gain == NOT_MEASURED


def test_a_gain_that_was_not_measured_is_told_with_every_figure() -> None:
    # Given a record with only the zero of a channel in watts, as HAPPE reads it from a file
    watts = Channel("power", Measures.POWER, "W", SHUNT.dtype, 1e-3, 0.0)
    found = outcome([both(watts, 1e-3, None)], None, None)
    record = parse(to_toml(dataclasses.replace(RECORD, channels=found.channels)).encode(), "zeros.toml")
    assert rig(watts, record=record).notes == ("power: gain was not measured and is not in the uncertainty",)
    # And a known load gives a gain
    loaded = dataclasses.replace(RECORD, channels=outcome([both(watts, 1e-3, 40.0)], LOAD, None).channels)
    assert rig(watts, record=loaded).notes == ()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (both(SHUNT, 1e-3, 1.1e-3, 1e-5), "the load is missing, or its poles are swapped"),
        (both(SHUNT, 0.0, -0.2), "the load is missing, or its poles are swapped"),
        (both(SUPPLY, 4.9, 5.0), "was not shorted"),
        (both(dataclasses.replace(SHUNT, measures=Measures.ENERGY), 0.0, 1.0), "has no zero to measure"),
    ],
)
def test_readings_that_cannot_be_those_of_the_load_are_refused(given: Readings, says: str) -> None:
    with pytest.raises(LoadError, match=says):
        outcome([given], LOAD, BEFORE)
