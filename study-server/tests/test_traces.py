# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces: beginning them, filling them with immutable parts, sealing them; requests that would break them."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

import given_devices
import given_traces
import records
from given_devices import Enrolled, device, put_part, put_seal, put_trace, said
from given_studies import small, study
from happe_study.base.clock import now_us
from happe_study.model.rights import Role
from happe_study.model.studies import Study
from happe_study.model.traces import TracePart
from happe_study.study.traces import upkeep
from happe_study.study.traces.sealed import sealed_bytes
from happe_study.study.traces.storage import Folder, Part
from postgres import ON_BOTH
from world import World

Json = dict[str, Any]

PART = records.part(0)


@dataclass
class Begun:
    """A trace that a meter has begun."""

    world: World
    study: Study
    laptop: Enrolled
    meter: Enrolled
    client: FlaskClient
    header: Json

    @property
    def id(self) -> str:
        """The trace's id."""
        return str(self.header["id"])

    @property
    def storage(self) -> Folder:
        """The store of parts."""
        return Folder(self.world.config.traces_folder)

    def files(self) -> list[str]:
        """The names of all files on the disk, of finished parts without their digests."""
        names = [path.name for path in self.storage.root.rglob("*") if path.is_file()]
        return sorted(name.partition("-")[0] if name.endswith(".sealed") else name for name in names)


def begin(world: World) -> Begun:
    within = study(world, protocol=small())
    laptop, meter = device(world, within), device(world, within, "meter")
    client, header = world.client(meter.token), given_devices.header(within, meter, laptop)
    assert put_trace(client, header).status_code == 201
    return Begun(world, within, laptop, meter, client, header)


def test_a_trace_is_begun_once_and_the_same_header_may_come_again(world: World) -> None:
    begun = begin(world)
    again, other = put_trace(begun.client, begun.header), put_trace(begun.client, begun.header | {"rate_hz": 5})
    assert (again.status_code, again.json) == (200, {"trace": begun.id, "sealed": False, "received": 0})
    assert (other.status_code, said(other)["type"]) == (409, "urn:happe:problem:trace")


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [({"study": "another"}, "/study"), ({"meter": "AAAAAAAA"}, "/meter"), ({"measured": "AAAAAAAA"}, "/measured")],
)
def test_a_header_names_only_the_senders_own(world: World, changed: Json, pointer: str) -> None:
    begun = begin(world)
    answer = put_trace(begun.client, begun.header | changed | {"id": str(uuid4())})
    assert answer.status_code == 422
    assert [error["pointer"] for error in said(answer)["errors"]] == [pointer]


def test_a_part_is_made_once(world: World) -> None:
    # given
    begun = begin(world)
    # when
    answers = [put_part(begun.client, begun.id, 0, records.part(number)) for number in (0, 0, 1)]
    # then
    assert [answer.status_code for answer in answers] == [201, 200, 409]
    assert given_traces.kept(world, begun.id, 0) == PART
    assert begun.files() == ["00000"]


def test_what_is_missing_is_told_and_a_whole_trace_is_sealed(world: World) -> None:
    # given
    begun = begin(world)
    for number in (0, 1, 4):
        put_part(begun.client, begun.id, number, records.part(number))
    put_part(begun.client, begun.id, 2, records.part(7))
    address = f"/api/v1/traces/{begun.id}"
    # when
    refused = put_seal(begun.client, records.power_manifest(4, trace=begun.id))
    # then
    assert begun.client.get(f"{address}/missing?count=6").json == {"missing": [3, 5]}
    assert refused.status_code == 409
    assert (said(refused)["missing"], said(refused)["mismatched"], said(refused)["unexpected"]) == ([3], [2], [4])


def test_a_sealed_trace_takes_the_same_seal_and_no_part(world: World) -> None:
    # given
    begun = begin(world)
    for number in range(3):
        put_part(begun.client, begun.id, number, records.part(number))
    manifest = records.power_manifest(3, trace=begun.id)
    # when
    answers = [put_seal(begun.client, manifest) for _ in range(2)]
    # then
    assert [answer.json for answer in answers] == [{"trace": begun.id, "sealed": True, "received": 3}] * 2
    assert put_part(begun.client, begun.id, 0, PART).status_code == 200
    assert said(put_part(begun.client, begun.id, 3, records.part(3)))["type"] == "urn:happe:problem:sealed"
    assert said(put_seal(begun.client, manifest | {"time_base": []}))["type"] == "urn:happe:problem:sealed"
    assert [each for each in world.actions() if each.startswith("trace.")] == ["trace.begun", "trace.sealed"]


def test_an_empty_trace_can_be_sealed(world: World) -> None:
    begun = begin(world)
    assert put_seal(begun.client, records.power_manifest(0, trace=begun.id)).status_code == 200


def test_a_body_that_ends_early_is_not_kept(world: World) -> None:
    begun = begin(world)
    environ = {"wsgi.input": BytesIO(PART), "CONTENT_LENGTH": str(len(PART) + 1)}
    headers = given_devices.part_headers(PART)
    answer = begun.client.put(f"/api/v1/traces/{begun.id}/parts/0", headers=headers, environ_overrides=environ)
    assert answer.status_code == 400
    assert begun.files() == []


def test_limits_of_part_device_and_study(sqlite_url: str, tmp_path: Path) -> None:
    # given
    size = len(PART)
    kept = sealed_bytes(size, size)  # the server pads a part to its nominal length, but to no more than the limit
    for limits, status in (
        ({"part_bytes": size - 1}, 413),
        ({"part_bytes": size, "device_bytes": 2 * kept}, 507),
        ({"part_bytes": size, "study_bytes": 2 * kept}, 507),
        ({"free_bytes": 1 << 60}, 507),
    ):
        world = World(tmp_path, sqlite_url, limits=limits)
        name = f"limit-{'-'.join(limits).replace('_', '-')}"
        within = study(world, protocol=small(name))
        laptop, meter = device(world, within), device(world, within, "meter")
        client, header = world.client(meter.token), given_devices.header(within, meter, laptop)
        put_trace(client, header)
        # when
        answers = [put_part(client, header["id"], number, records.part(number)) for number in range(3)]
        # then
        assert answers[-1].status_code == status, limits
        assert len(Folder(world.config.traces_folder).stored(UUID(header["id"]))) == (
            2 if limits.keys() & {"device_bytes", "study_bytes"} else 0
        )
        world.close()


def test_a_trace_is_its_meters_alone(world: World) -> None:
    # given
    begun = begin(world)
    colleague, laptop = device(world, begun.study, "meter"), begun.laptop
    elsewhere = device(world, study(world, protocol=small("other")), "meter")
    put_part(begun.client, begun.id, 0, PART)
    for other in (colleague, elsewhere, laptop):
        client = world.client(other.token)
        # when
        answers = [
            put_part(client, begun.id, 1, PART),
            put_seal(client, records.power_manifest(1, trace=begun.id)),
            client.get(f"/api/v1/traces/{begun.id}"),
            client.get(f"/api/v1/traces/{begun.id}/missing?count=1"),
        ]
        # then
        assert [answer.status_code for answer in answers] == [404] * 4
    header = given_devices.header(begun.study, colleague, laptop) | {"id": begun.id}
    assert put_trace(world.client(colleague.token), header).status_code == 409
    assert begun.files() == ["00000"]


@ON_BOTH
def test_uploads_of_one_part_at_once_both_end_well_and_make_one_file(world: World) -> None:
    # given
    begun, gate, at_once = begin(world), threading.Barrier(8), 8

    def send(number: int) -> int:
        client, content = world.client(begun.meter.token), records.part(number % 2)
        gate.wait()
        return put_part(client, begun.id, 0, content).status_code

    # when
    with ThreadPoolExecutor(at_once) as pool:
        statuses = sorted(pool.map(send, range(at_once)))
    # then
    assert statuses == [200] * 3 + [201] + [409] * 4
    assert begun.files() == ["00000"]
    with world.database.reading() as session:
        row = session.scalars(select(TracePart)).one()
    assert hashlib.sha256(begun.storage.read(Part(UUID(begun.id), 0, row.sha256))).hexdigest() == row.sha256


def test_what_crashes_left_is_swept_away_after_a_month_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    begun = begin(world)
    put_part(begun.client, begun.id, 0, PART)
    folder = begun.storage.folder(UUID(begun.id))
    (folder / "00001-abc.upload").write_bytes(b"PAR1")  # the server was killed while it received this
    begun.storage.put(Part(UUID(begun.id), 2, "ab" * 32), PART)  # the server was killed before this got a row
    forgotten = Part(uuid4(), 0, "cd" * 32)
    begun.storage.put(forgotten, PART)
    # when
    young, old = (upkeep.sweep(world.database, begun.storage, older_than=seconds) for seconds in (60, 0))
    kept = begun.files()
    later = now_us() + upkeep.WAIT_SECONDS * 1_000_000
    monkeypatch.setattr(upkeep, "now_us", lambda: later)
    late = upkeep.sweep(world.database, begun.storage)
    # then
    assert [(each.unfinished, each.unnamed) for each in (young, old, late)] == [(0, 0), (1, 0), (0, 2)]
    assert kept == ["00000", "00000", "00002"]
    assert begun.files() == ["00000"]
    assert not begun.storage.folder(forgotten.trace).exists()
    assert put_part(begun.client, begun.id, 2, PART).status_code == 201


def test_staff_sees_how_far_a_trace_is_and_neither_bytes_nor_watts(world: World) -> None:
    # given
    begun, staff = begin(world), world.staff(Role.EXPERIMENTER)
    address = f"/api/v1/studies/{begun.study.name}/traces"
    put_part(begun.client, begun.id, 0, PART)
    # when
    (going,) = said(staff.get(address))["traces"]
    put_seal(begun.client, records.power_manifest(1, trace=begun.id))
    (sealed,) = said(staff.get(address))["traces"]
    # then
    names = {"trace", "meter", "laptop", "created_us", "sealed_us", "received", "of", "seconds"}
    assert going.keys() == sealed.keys() == names
    assert (going["received"], going["of"], going["seconds"], going["sealed_us"]) == (1, None, 10, None)
    assert (sealed["received"], sealed["of"], sealed["seconds"]) == (1, 1, 9)
    assert (sealed["meter"], sealed["laptop"]) == (begun.meter.device.code, begun.laptop.device.code)


def test_staff_reads_traces_a_page_at_a_time(world: World) -> None:
    begun, staff = begin(world), world.staff(Role.EXPERIMENTER)
    headers = [begun.header | {"id": str(uuid4())} for _ in range(4)]
    assert [put_trace(begun.client, header).status_code for header in headers] == [201] * 4
    address, seen, following = f"/api/v1/studies/{begun.study.name}/traces", [], ""
    while following is not None:
        page = said(staff.get(f"{address}?limit=2{following and '&after=' + following}"))
        seen.append([each["trace"] for each in page["traces"]])
        following = page["next"]
    assert [len(traces) for traces in seen] == [2, 2, 1]
    assert [trace for traces in seen for trace in traces] == sorted([begun.id, *(header["id"] for header in headers)])


def test_a_revoked_meter_sends_nothing(world: World) -> None:
    begun, staff = begin(world), world.staff(Role.ADMINISTRATOR)
    staff.post(f"/api/v1/studies/{begun.study.name}/devices/{begun.meter.device.code}/revocation")
    assert put_part(begun.client, begun.id, 0, PART).status_code == 401
    assert world.count(TracePart) == 0
