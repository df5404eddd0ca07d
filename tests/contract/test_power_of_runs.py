# SPDX-License-Identifier: GPL-2.0-or-later
"""The study server reads the power that the power logger wrote, with the same rig."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from happe_contract.parts import BadPartError, Footer, read_footer
from happe_contract.traces import Channel, Measures, TimePair
from happe_power.recording.parts import encode
from happe_study.study.traces.parts import samples
from happe_study.study.traces.power_view import NoPowerError, meter_of

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

# Channels, calibration record, and watts for the values at each channel's input; or the missing part.
RIGS: dict[str, tuple[list[Json], Json | None, Callable[..., Any] | str]] = {
    "before the shunt": (
        [SHUNT, SUPPLY],
        NAMED | OHM | DIVIDER | {"wiring": BEFORE, "channels": GAINS},
        lambda x, y: (1.01 * x - 0.002) / 0.1 * (3 * y - (1.01 * x - 0.002)),
    ),
    "after the shunt": (
        [SUPPLY, SHUNT],
        NAMED | OHM | DIVIDER | {"wiring": AFTER},
        lambda y, x: x / 0.1 * 3 * y,
    ),
    "nobody knows where": ([SHUNT, SUPPLY], NAMED | OHM, lambda x, y: x / 0.1 * (y - x / 2)),
    "a supply that is stated": (
        [SHUNT],
        NAMED | OHM | VOLT | {"wiring": AFTER, "channels": GAINS},
        lambda x: (1.01 * x - 0.002) / 0.1 * 19.5,
    ),
    "a current": ([CURRENT, SUPPLY], NAMED | DIVIDER, lambda x, y: x * 3 * y),
    "power": ([POWER], None, lambda x: x),
    "power beside a shunt": ([POWER, SHUNT], NAMED | OHM | VOLT, lambda _, x: x / 0.1 * (19.5 - x / 2)),
    "no shunt": ([SHUNT, SUPPLY], None, "the shunt was never measured"),
    "no supply": ([SHUNT], NAMED | OHM, "the supply is neither measured nor stated"),
    "nothing that gives watts": ([SUPPLY], NAMED, "no channel gives watts"),
}


@pytest.mark.parametrize("name", RIGS)
def test_a_header_gives_watts_or_says_what_lacks(name: str) -> None:
    listed, record, expected = RIGS[name]
    header = {"channels": listed, "calibration": record, "rate_hz": 1000}
    if isinstance(expected, str):
        with pytest.raises(NoPowerError, match=expected):
            meter_of(header)
        return
    raw = np.random.default_rng(1).integers(-30_000, 30_000, (len(listed), 500)).astype(np.int16)
    by_name = dict(zip((each["name"] for each in listed), raw, strict=True))
    meter = meter_of(header)
    drawn = meter.watts(tuple(by_name[name] for name, _dtype in meter.columns))
    np.testing.assert_allclose(drawn, expected(*(raw * 1.5e-4 + 0.01)), rtol=1e-12, atol=1e-12)


def test_steps_of_a_counter_are_watts_of_the_sample_at_their_beginning() -> None:
    meter = meter_of({"channels": [ENERGY], "calibration": None, "rate_hz": 10})
    joules = np.array([0, 10, 30, 30], dtype=np.int16)
    np.testing.assert_allclose(meter.watts((joules,))[:-1], np.diff(joules) * 1.5e-4 * 10)
    assert np.isnan(meter.watts((joules,))[-1])


def test_the_server_reads_the_parts_that_the_logger_writes(tmp_path: Path) -> None:
    channels = [Channel("shunt", Measures.SHUNT, "V", np.dtype("int16"), 1e-4, 0.0)]
    raw = np.arange(-500, 500, dtype=np.int16)
    footer = Footer("2b1e5a52-8f6c-4f0e-9c57-0a8d1d1c3b11", 4, ((100, 400), (700, 600)), (TimePair(100, 5, 9),))
    path = tmp_path / "00004.parquet"
    path.write_bytes(encode(channels, [raw], footer))
    assert read_footer(path) == footer
    ((row, (column,)),) = samples(pa.py_buffer(path.read_bytes()), 4, [("shunt", "int16")])
    assert row == 0
    np.testing.assert_array_equal(column, raw)
    with pytest.raises(BadPartError, match="part 4 has no column supply of int16"):
        list(samples(pa.py_buffer(path.read_bytes()), 4, [("supply", "int16")]))
