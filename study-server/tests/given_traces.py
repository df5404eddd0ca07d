# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces with which tests begin. A meter has uploaded their parts."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from flask.testing import FlaskClient
from sqlalchemy import select

import given_studies
from given_devices import device, header, put_part, put_trace
from happe_study.model.traces import Trace, TracePart
from happe_study.study.traces.sealed import Seal, seal_of
from happe_study.study.traces.storage import Folder, Part
from happe_study.study.traces.stores import storage_of
from world import World, fixed_secrets


def seal(world: World, trace: str, number: int) -> Seal:
    """The seal of a trace's part."""
    with world.database.reading() as session:
        row = session.scalars(select(Trace).where(Trace.client_id == trace)).one()
        return seal_of(row, number, fixed_secrets().allocation)


def kept(world: World, trace: str, number: int) -> bytes:
    """The content of a part that the server has."""
    with world.database.reading() as session:
        rows = select(TracePart.sha256).join(Trace, Trace.id == TracePart.trace_id).where(Trace.client_id == trace)
        sha256 = session.scalars(rows.where(TracePart.number == number)).one()
    stored = storage_of(world.config, world.database).read(Part(UUID(trace), number, sha256))
    return seal(world, trace, number).opened(stored)


def path_of(world: World, trace: str, number: int) -> Path:
    """The file of a stored part."""
    storage = Folder(world.config.traces_folder)
    [found] = storage.folder(UUID(trace)).glob(f"{number:05d}-*.sealed")
    return found


def replace(world: World, trace: str, number: int, content: bytes) -> None:
    """Replace the content of a part on the server, correctly sealed."""
    path_of(world, trace, number).write_bytes(seal(world, trace, number).sealed(content, 4096))


@dataclass
class Uploading:
    """A meter in the middle of a trace."""

    world: World
    client: FlaskClient
    trace: str
    acknowledged: dict[int, bytes] = field(default_factory=dict)

    def put(self, number: int, size: int = 5000) -> None:
        """Upload a part, and note it when the server has acknowledged it."""
        content = part(number, size)
        answer = put_part(self.client, self.trace, number, content)
        assert answer.status_code in (200, 201), answer.text
        self.acknowledged[number] = content

    @property
    def files(self) -> list[Path]:
        """The paths of the acknowledged parts."""
        return [path_of(self.world, self.trace, number) for number in self.acknowledged]


def part(number: int, size: int = 5000) -> bytes:
    """A part's bytes: random content between Parquet's marks, different for each number."""
    return b"PAR1" + random.Random(number).randbytes(size - 12) + (16).to_bytes(4, "little") + b"PAR1"  # noqa: S311 - no secret


def begun(world: World, name: str = "small") -> Uploading:
    """A trace without parts, in a new study."""
    study = given_studies.study(world, name, protocol=given_studies.small(name))
    laptop, meter = device(world, study), device(world, study, "meter")
    client = world.client(meter.token)
    document = header(study, meter, laptop)
    assert put_trace(client, document).status_code in (200, 201)
    return Uploading(world, client, document["id"])


def uploaded(world: World, parts: int) -> Uploading:
    """A trace with this number of parts."""
    made = begun(world)
    for number in range(parts):
        made.put(number)
    return made
