# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs with which tests begin. Devices have uploaded their records, and their power in parts (docs/uploads.md)."""

import hashlib
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from flask.testing import FlaskClient
from numpy.typing import NDArray

import given_devices
import given_participants as people
import given_studies
import records
from happe_study.model.studies import Study
from happe_study.study.people import devices
from world import World

Json = dict[str, Any]

METER_BOOT = "11111111-2222-4333-8444-555555555555"
SECOND = 1_000_000
SERVER_US = 1_793_440_000_000_000  # the server's time when the run began
BEFORE = 5  # seconds that the trace begins before the run
METER_US = 5_000_000_000  # the meter's clock at its first sample
UNCERTAIN_US = 1500
OHM, VOLT = 0.1, 19.5  # of a rig whose calibration record has exactly these values
SCALE = 1.0 / 2**15


@dataclass
class MeasuredRun:
    """A complete run of an unblinded study, and the power of its laptop during the run."""

    study: str
    participant: str
    code: str
    record: Json
    trace: str
    watts: NDArray[np.float64]  # at each index of the trace
    rate_hz: int
    restarted: tuple[int, int] = (1 << 60, 0)
    manifest: Json = field(default_factory=dict)

    def pair(self, index: int) -> Json:
        """An index with its time by the meter's clocks."""
        first, late_us = self.restarted
        since_us = index * SECOND // self.rate_hz + (late_us if index >= first else 0)
        return {"index": index, "monotonic_us": METER_US + since_us, "realtime_us": SERVER_US + since_us}

    @property
    def seconds(self) -> float:
        """The run's length according to its record."""
        return float(self.record["ended_us"] - self.record["started_us"]) / SECOND

    @property
    def path(self) -> str:
        """The page of the run."""
        return f"/studies/{self.study}/runs/{self.code}"

    def mean(self, begin: float, end: float) -> float:
        """Mean watts between two times of the run."""
        first, last = (round((BEFORE + at) * self.rate_hz) for at in (begin, end))
        return float(np.nanmean(self.watts[first:last]))


def measured_run(  # noqa: PLR0913 - each is an option
    world: World,
    name: str = "measured",
    *,
    seconds: int = 60,
    rate_hz: int = 10_000,
    gap: tuple[float, float] | None = None,
    miscounted_us: int = 0,
    calibrated: bool = True,
    record: Json | None = None,
    unblinded: bool = True,
    meter_name: str = "bench meter",
    more: str = "",
    bandwidth_hz: float | None = None,
    sealed: bool = True,
) -> MeasuredRun:
    """A run of `seconds`. Its power lacks samples in the `gap` (seconds of the run).

    `more` is added to the protocol. `bandwidth_hz` is that of the meter's filter; None: the header does not state it.
    The gap lasted `miscounted_us` longer than the number of its lost samples says.
    """
    study = given_studies.study(world, name, protocol=given_studies.small(name) + more)
    row, _link = people.participant(world, study)
    laptop = people.laptop_with(world, study, row)
    meter = given_devices.device(world, study, "meter", name=meter_name)
    code = people.runs_of(world, row)[0].code
    people.answered(world, code, laptop)
    made = (record or records.make(code, seconds, 4, client_id=str(uuid4()), presses=0.12)) | {"run": code}
    assert given_devices.put_record(world.client(laptop.token), made).status_code == HTTPStatus.CREATED
    run = MeasuredRun(study.name, row.code, code, made, "", _watts(made, seconds, rate_hz, gap), rate_hz)
    if gap:
        run.restarted = (round((BEFORE + gap[1]) * rate_hz), miscounted_us)
    header = _header(study, meter, laptop, rate_hz, calibrated=calibrated, bandwidth_hz=bandwidth_hz)
    _send_all(world, run, laptop, meter, header, sealed)
    if unblinded:
        given_studies.unblind(world, study.name)
    return run


def several(world: World, count: int, *, seconds: int = 40, rate_hz: int = 200, name: str = "measured") -> Study:
    """A blinded study in which `count` participants each played a run. Each has a laptop and a meter."""
    study = given_studies.study(world, name, protocol=given_studies.small(name, participants=count))
    for number in range(count):
        row, _link = people.participant(world, study)
        laptop = people.laptop_with(world, study, row)
        code = people.runs_of(world, row)[0].code
        people.answered(world, code, laptop)
        record = records.make(code, seconds, number + 1, client_id=str(uuid4()))
        assert given_devices.put_record(world.client(laptop.token), record).status_code == HTTPStatus.CREATED
        uploaded(world, study, laptop, record, rate_hz)
    return study


def uploaded(world: World, study: Study, laptop: given_devices.Enrolled, record: Json, rate_hz: int = 200) -> str:
    """Let a new meter upload the power of a laptop's run, well enough for measuring, and return the trace's id."""
    bandwidth_hz = 3.0
    watts = _watts(record, len(record["observations"]), rate_hz, None)
    run = MeasuredRun(study.name, "", record["run"], record, "", watts, rate_hz)
    meter = given_devices.device(world, study, "meter")
    header = _header(study, meter, laptop, rate_hz, calibrated=True, bandwidth_hz=bandwidth_hz)
    _send_all(world, run, laptop, meter, header)
    return run.trace


def _send_all(  # noqa: PLR0913, PLR0917 - each is needed
    world: World,
    run: MeasuredRun,
    laptop: given_devices.Enrolled,
    meter: given_devices.Enrolled,
    header: Json,
    sealed: bool = True,  # noqa: FBT001, FBT002 - almost always
) -> None:
    """Compare the clocks, begin the trace, send its parts, and seal it if `sealed`."""
    _compare_clocks(world, laptop, f"monotonic:{records.BOOT}", run.record["started_us"], SERVER_US)
    _compare_clocks(world, meter, f"monotonic:{METER_BOOT}", METER_US + BEFORE * SECOND, SERVER_US)
    client = world.client(meter.token)
    assert given_devices.put_trace(client, header).status_code == HTTPStatus.CREATED
    run.trace = header["id"]
    run.manifest = _send(client, header, run)
    if sealed:
        answer = given_devices.put_seal(client, run.manifest)
        assert answer.status_code == HTTPStatus.OK, answer.text


def _watts(record: Json, seconds: int, rate_hz: int, gap: tuple[float, float] | None) -> NDArray[np.float64]:
    """12 W, 20 W more for a busy CPU at full speed, a ripple, and a spike of 60 W each second, in the card's steps."""
    at = np.arange((seconds + 2 * BEFORE) * rate_hz) / rate_hz - BEFORE
    busy = np.zeros(seconds)
    for number, line in enumerate(record["observations"][:seconds]):
        policy = line["policies"][0]
        busy[number] = max(policy["util_ppm"]) / 1e6 * policy["cur_khz"] / records.LADDER[-1]
    second = np.clip(at.astype(int), 0, seconds - 1)
    watts = 12 + 20 * np.where((at >= 0) & (at < seconds), busy[second], 0) + 0.4 * np.sin(at * 2 * np.pi * 50)
    watts[::rate_hz] = 60
    watts = np.round(watts / VOLT * OHM / SCALE) * SCALE / OHM * VOLT
    if gap is not None:
        watts[(at >= gap[0]) & (at < gap[1])] = np.nan
    return watts


def _compare_clocks(world: World, device: given_devices.Enrolled, clock: str, device_us: int, server_us: int) -> None:
    """Store estimates a minute before and ten after. They are those of a clock that does not drift."""
    with world.database.writing() as session:
        for away in (-60 * SECOND, 600 * SECOND):
            sent, received = device_us + away, server_us + away
            probe = [[sent - UNCERTAIN_US, received, received, sent + UNCERTAIN_US]]
            devices.estimate_clock(session, device.device.id, str(uuid4()), clock, probe)


def _header(  # noqa: PLR0913 - what can be otherwise
    study: Study,
    meter: given_devices.Enrolled,
    laptop: given_devices.Enrolled,
    rate_hz: int,
    *,
    calibrated: bool,
    bandwidth_hz: float | None,
) -> Json:
    header = given_devices.header(study, meter, laptop, clock=f"monotonic:{METER_BOOT}", rate_hz=rate_hz)
    exact = {"standard_uncertainty": 0.0001, "source": "made up"}
    record = {name: header["calibration"][name] for name in ("name", "sha256", "date", "expires")}
    record |= {"shunt_ohm": exact | {"value": OHM}, "supply_volt": exact | {"value": VOLT}}
    record |= {"wiring": {"shunt": "return", "supply_measured": "after"}}
    channel = header["channels"][0] | {"scale": SCALE}
    if bandwidth_hz:
        channel["filter"] = {"bandwidth_hz": bandwidth_hz, "poles": 2, "source": "made up", "ripple": 0}
    power = channel | {"measures": "power", "unit": "W", "scale": SCALE / OHM * VOLT}
    return header | {
        "channels": [channel if calibrated else power],
        "calibration": record if calibrated else None,
        "source": {"kind": "nidaqmx", "device": "NI 6034E"},
    }


def _send(client: FlaskClient, header: Json, run: MeasuredRun) -> Json:
    """Upload parts of ten seconds, and return the manifest."""
    rows = header["part_seconds"] * run.rate_hz
    raw = run.watts / VOLT * OHM / SCALE
    listed: list[Json] = []
    for begin in range(0, len(raw), rows):
        here = raw[begin : begin + rows]
        if np.isnan(here).all():
            continue
        content = part(header, len(listed), begin, here, run.pair)
        answer = given_devices.put_part(client, run.trace or header["id"], len(listed), content)
        assert answer.status_code == HTTPStatus.CREATED, answer.text
        first = begin + int(np.flatnonzero(~np.isnan(here))[0])
        samples = int((~np.isnan(here)).sum())
        digest = hashlib.sha256(content).hexdigest()
        listed.append({"number": len(listed), "bytes": len(content), "sha256": digest})
        listed[-1] |= {"first_index": first, "samples": samples}
    gaps = [{"from_index": a, "to_index": b, "reason": "overflow"} for a, b in _runs(np.isnan(raw))]
    return {
        "format": "happe-power-manifest/1",
        "trace": header["id"],
        "count": len(listed),
        "parts": listed,
        "samples": sum(each["samples"] for each in listed),
        "end_index": len(raw),
        "gaps": gaps,
        "ended": run.pair(len(raw) - 1),
        "time_base": [run.pair(0)],
    }


def part(header: Json, number: int, begin: int, raw: NDArray[np.float64], pair: Callable[[int], Json]) -> bytes:
    """A part's file with one column. NaN in `raw` means no sample."""
    there = ~np.isnan(raw)
    rate_hz = int(header["rate_hz"])
    said = {
        "trace": header["id"],
        "number": number,
        "runs": [[begin + a, b - a] for a, b in _runs(there)],
        "time_base": [list(pair(begin + at).values()) for at in range(0, len(raw), rate_hz)],
    }
    name = header["channels"][0]["name"]
    schema = pa.schema([pa.field(name, pa.int16(), nullable=False)])
    table = pa.table([pa.array(np.round(raw[there]).astype(np.int16))], schema=schema)
    stream = io.BytesIO()
    with pq.ParquetWriter(
        stream, schema, compression="zstd", use_dictionary=False, column_encoding={name: "DELTA_BINARY_PACKED"}
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"happe": json.dumps(said)})
    return stream.getvalue()


def _runs(there: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(there.astype(np.int8), prepend=0, append=0)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
