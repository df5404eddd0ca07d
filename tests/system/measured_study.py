# SPDX-License-Identifier: GPL-2.0-or-later
"""A small study on a server, from the lock to the watts, as honest laptops and measuring hosts leave it.

Two participants go through their ten runs of half a minute, each at a laptop with its own meter. The laptops follow
the sealed conditions, and so do their records. The meters record, in happe-power's format, the power that Table A.2
gives for those records, and 24.4 W between the runs. Requests go to the server's API; the test controls its clock.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import shutil
from dataclasses import dataclass, field
from http import HTTPStatus
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
from nacl.public import SealedBox
from sqlalchemy import select

import given_devices
import given_participants
import given_studies
import power_traces
import records
from given_truths import RECORD, known
from happe_contract.parts import Footer
from happe_contract.traces import TimePair
from happe_power import calibration
from happe_power.recording import closing, parts
from happe_power.recording.header import FOLDERS, Layout, compact
from happe_study.base.clock import now_us
from happe_study.design.study import Study
from happe_study.evidence.documents.machines import T61
from happe_study.evidence.traces.downloads import download
from happe_study.evidence.traces.sealed import TraceFiles
from happe_study.evidence.traces.storage import Folder
from happe_study.results.unblinding import services as unblinding
from power_program import happe_power
from world import World, fixed_secrets

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from numpy.typing import NDArray

    from given_devices import Enrolled
    from happe_contract.calibration import Calibration

SECOND = 1_000_000
STARTED_S = 1_800_000_000
RUN_S, PAUSE_S = 30, 6
RATE_HZ, PART_S = 100.0, 60
OHM, SUPPLY_V, DIVIDER, IDLE_W = 0.1, 19.5, 3.0, 24.4
NAME = "measured"
BOOTS = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7")
LIMITS = {"login": "1000 per second", "enrol": "1000 per second", "participant": "1000 per second"}


@dataclass
class Clock:
    """The server's clock, in microseconds."""

    us: int = STARTED_S * SECOND

    def time_ns(self) -> int:
        """Return the time, as the module `time` does."""
        self.us += 1
        return self.us * 1000

    def until(self, us: int) -> None:
        """Let time pass."""
        self.us = max(self.us, us)


@dataclass
class Rig:
    """A laptop and its meter. `offsets_us`: the server's clock minus theirs. `drawn`: watts by the server's second."""

    laptop: Enrolled
    meter: Enrolled
    boot: str
    offsets_us: tuple[int, int]
    drawn: list[tuple[int, float]] = field(default_factory=list)  # end of a second, microseconds of the server


class MeasuredStudy:
    """The study in a folder: a server's data, and the researcher's files."""

    def __init__(self, folder: Path) -> None:
        """Open existing data."""
        self.folder = folder
        self.world = World(folder, f"sqlite:///{folder / 'server.db'}", limits=LIMITS)

    @property
    def storage(self) -> Folder:
        """Return the storage of traces' parts."""
        return Folder(self.world.config.traces_folder)

    def study(self, session: Any) -> Study:  # noqa: ANN401 - a session
        """The study."""
        found: Study = session.scalars(select(Study).where(Study.name == NAME)).one()
        return found

    def copy(self, folder: Path) -> MeasuredStudy:
        """Copy the study, so that a test can plant a mistake in the copy."""
        shutil.copytree(self.folder, folder)
        return MeasuredStudy(folder)

    def runs_csv(self) -> Path:
        """The table `runs`, exported."""
        analyst = self.world.staff("analyst")  # type: ignore[arg-type] # a Role is a string
        path = self.folder / "runs.csv"
        path.write_bytes(analyst.post(f"/api/v1/studies/{NAME}/exports/runs?format=csv").data)
        return path

    def traces(self) -> list[Path]:
        """The traces' folders, downloaded."""
        out = self.folder / "downloads"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        with self.world.database.reading() as session:
            files = TraceFiles(self.storage, fixed_secrets().allocation)
            found = list(download(session, self.study(session).id, files, out))
        assert not any(each.faults for each in found)
        return [each.folder for each in found]

    def measures(self, *more: str | Path) -> list[dict[str, Any]]:
        """Return the result of `happe-power measures` for the traces and the runs."""
        out = self.folder / "measures.json"
        out.unlink(missing_ok=True)
        named = [part for trace in self.traces() for part in ("--trace", trace)]
        ran = happe_power("measures", self.runs_csv(), *named, "--out", out, *more)
        assert (ran.status, ran.err) == (0, "")
        found: list[dict[str, Any]] = json.loads(out.read_text())["measures"]
        return found


def honest(folder: Path, template: Path, patch: pytest.MonkeyPatch) -> MeasuredStudy:
    """Make the study, unblinded and without mistakes. `template` is a migrated database."""
    clock = Clock()
    patch.setattr("happe_study.base.clock.time", SimpleNamespace(time_ns=clock.time_ns))
    shutil.copy(template, folder / "server.db")
    made = MeasuredStudy(folder)
    protocol = given_studies.small(NAME).replace("seconds = 120", f"seconds = {RUN_S}")
    protocol = protocol.replace("seconds = 90", f"seconds = {RUN_S}")
    study = given_studies.study(made.world, protocol=protocol, draw=lambda size: bytes([7]) * size)
    rigs = [_rig(made.world, study, number) for number in range(2)]
    for number, rig in enumerate(rigs):
        _sit(made.world, study, rig, clock, Random(number))  # noqa: S311 - no secret
    for rig in rigs:
        _record(made, study, rig, clock)
    with made.world.database.writing() as session:
        order = unblinding.Order(None, "every run is complete", NAME)
        unblinding.unblind(session, made.study(session), fixed_secrets(), order)
    return made


def _rig(world: World, study: Study, number: int) -> Rig:
    laptop = given_devices.device(world, study, "laptop", name=f"laptop {number + 1}")
    meter = given_devices.device(world, study, "meter", name=f"meter {number + 1}")
    offsets = (STARTED_S * SECOND - 5_000_000_000 * (number + 1), STARTED_S * SECOND - 9_000_000_000)
    return Rig(laptop, meter, BOOTS[number], offsets)


def _sit(world: World, study: Study, rig: Rig, clock: Clock, random: Random) -> None:
    """Let a participant go through all their runs."""
    row, _link = given_participants.participant(world, study)
    given_devices.seat(world, rig.laptop, row.id)
    client = world.client(rig.laptop.token)
    profiles: dict[str, list[int]] = {}
    _idle(rig, clock, PAUSE_S)
    for run in given_participants.runs_of(world, row):
        _compare(world, rig, clock, random)
        answer = client.post(f"/api/v1/runs/{run.code}/start", json={"id": str(UUID(int=random.getrandbits(128)))})
        assert rig.laptop.key is not None
        told = json.loads(SealedBox(rig.laptop.key).decrypt(base64.b64decode(answer.get_json()["sealed"])))
        kernel = told["condition"] == "ondemand"
        trained = None if kernel or told["condition"] == "T-HAPPE" else profiles[run.application]
        played = records.make(run.code, RUN_S, random.getrandbits(32), kernel=kernel, presses=0.2, before=trained) | {
            "indicator": told["indicator"]
        }
        record = _played(played, rig, clock)
        if not kernel:
            profiles[run.application] = record["profile_after"]
        rating = {"id": records.identity(random.getrandbits(32)), "rating": 4}
        guess = {"id": records.identity(random.getrandbits(32)), "guess": "dont-know"}
        for path, body in (("end", None), ("rating", rating), ("guess", guess)):
            assert client.put(f"/api/v1/runs/{run.code}/{path}", json=body).status_code == HTTPStatus.OK, path
        assert given_devices.put_record(client, record).status_code == HTTPStatus.CREATED
        _idle(rig, clock, PAUSE_S)
    _compare(world, rig, clock, random)


def _played(made: dict[str, Any], rig: Rig, clock: Clock) -> dict[str, Any]:
    """Let the laptop repeat a record. Return the record by the laptop's clock, and the watts that the laptop draws."""
    begin_us = clock.us // SECOND * SECOND + 2 * SECOND - 500_000
    _idle_until(rig, begin_us)
    record = moved(made, begin_us - rig.offsets_us[0], f"monotonic:{rig.boot}")
    for line in made["observations"]:
        policy = line["policies"][0]
        watts = T61.at(policy["cur_khz"], max(policy["util_ppm"]) / 1e4)
        rig.drawn.append((begin_us + line["t_us"] - made["started_us"], watts))
    clock.until(begin_us + RUN_S * SECOND + 400_000)
    return record


def moved(record: dict[str, Any], started_us: int, clock: str) -> dict[str, Any]:
    """Return the record, moved to another start time on another clock."""
    by = started_us - record["started_us"]
    new: dict[str, Any] = json.loads(json.dumps(record)) | {"clock": clock}
    for name in ("started_us", "ended_us"):
        new[name] += by
    for line in (*new["observations"], *new["learned"]):
        line["t_us"] += by
        for press in line.get("keys", ()):
            press["t_us"] += by
    return new


def _compare(world: World, rig: Rig, clock: Clock, random: Random) -> None:
    """Compare both devices' clocks with the server's, to two milliseconds."""
    for device, boot, offset in (
        (rig.laptop, rig.boot, rig.offsets_us[0]),
        (rig.meter, BOOTS[0], rig.offsets_us[1]),
    ):
        at = clock.us
        probe = [at - offset - 2000, at, at, at - offset + 2000]
        path = f"/api/v1/device/clocks/{UUID(int=random.getrandbits(128), version=4)}"
        answer = world.client(device.token).put(path, json={"clock": f"monotonic:{boot}", "probes": [probe]})
        assert answer.status_code == HTTPStatus.CREATED, answer.text


def _idle(rig: Rig, clock: Clock, seconds: int) -> None:
    clock.until(clock.us + seconds * SECOND)
    _idle_until(rig, now_us())


def _idle_until(rig: Rig, us: int) -> None:
    rig.drawn.append((us, IDLE_W))


def _record(made: MeasuredStudy, study: Study, rig: Rig, clock: Clock) -> None:
    """Record the meter's trace of all runs, and upload it."""
    begin_us = rig.drawn[0][0] - PAUSE_S * SECOND
    samples = round((rig.drawn[-1][0] - begin_us) / SECOND * RATE_HZ)
    name = records.identity(begin_us)
    layout = Layout(made.folder / "spool" / name, name, power_traces.CHANNELS, RATE_HZ, 0, PART_S)
    for each in FOLDERS:
        (layout.folder / each).mkdir(parents=True)
    began = TimePair(0, begin_us - rig.offsets_us[1], begin_us)
    header = power_traces.begin(
        made.folder / "headers", rate_hz=RATE_HZ, clock=f"monotonic:{BOOTS[0]}", calibration=shipped(OHM).to_header(),
        codes=(rig.meter.device.code, rig.laptop.device.code), study=study.name,
    )  # fmt: skip
    document = json.loads((header.folder / "header.json").read_text()) | {"id": name, "part_seconds": PART_S}
    document["started"] = {"index": 0, "monotonic_us": began.monotonic_us, "realtime_us": began.realtime_us}
    (layout.folder / "header.json").write_bytes(compact(document))
    client = made.world.client(rig.meter.token)
    assert given_devices.put_trace(client, document).status_code == HTTPStatus.CREATED
    columns = _columns(rig, begin_us, samples)
    for number in range(-(-samples // layout.part_rows)):
        first = number * layout.part_rows
        mine = tuple(column[first : first + layout.part_rows] for column in columns)
        since = round(first / RATE_HZ * SECOND)
        pair = TimePair(first, began.monotonic_us + since, began.realtime_us + since)
        footer = Footer(name, number, ((first, len(mine[0])),), (pair,))
        encoded = parts.encode(layout.channels, mine, footer)
        closing.write_part(layout, footer, encoded)
        assert given_devices.put_part(client, name, number, bytes(encoded)).status_code == HTTPStatus.CREATED
    closing.end(layout, began)
    assert given_devices.put_seal(client, json.loads(layout.manifest.read_text())).status_code == HTTPStatus.OK
    clock.until(clock.us + SECOND)


def _columns(rig: Rig, begin_us: int, samples: int) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """Return the raw values of the shunt and of the divided supply for the watts that the laptop drew."""
    ends = np.array([us for us, _ in rig.drawn])
    watts = np.array([w for _, w in rig.drawn])
    at = begin_us + (np.arange(samples) + 0.5) / RATE_HZ * SECOND
    drawn = watts[np.minimum(np.searchsorted(ends, at), len(watts) - 1)]
    ampere = (SUPPLY_V - np.sqrt(SUPPLY_V**2 - 4 * OHM * drawn)) / (2 * OHM)
    noise = np.random.default_rng(begin_us % 2**32).normal(0, 3, samples)
    shunt = ampere * OHM / power_traces.SHUNT.scale + noise
    return shunt.astype(np.int16), np.full(samples, SUPPLY_V / DIVIDER / power_traces.SUPPLY.scale).astype(np.int16)


def shipped(ohm: float) -> Calibration:
    """A rig's calibration record, with this resistance."""
    return calibration.parse(record_toml(ohm).encode(), "rig.toml")


def record_toml(ohm: float) -> str:
    """Return such a record as the text of a file."""
    return calibration.to_toml(dataclasses.replace(RECORD, shunt_ohm=known(ohm, 5e-5), divider=known(DIVIDER, 0.002)))
