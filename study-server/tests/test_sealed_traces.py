# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the secrets, nobody can learn from power in database, folder and backup which run had which condition."""

from __future__ import annotations

import hashlib
import io
import json
import random
import sqlite3
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

import given_devices
import given_power
import given_studies
import given_traces
import records
from happe_study.design.allocation.sealing import SealError
from happe_study.design.study import Study
from happe_study.evidence.traces.folder import Folder
from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.sealed import manifest_of, part_room, sealed_manifest
from happe_study.evidence.traces.sealed_parts import CHUNK, KEY_BYTES, Seal, sealed_bytes
from happe_study.operations.backup import making
from happe_study.operations.backup.making import Source
from happe_study.results.unblinding import services as unblinding
from happe_study.results.unblinding.services import Order
from world import World, fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from happe_study.results.unblinding.services import Check
    from operated import Operated

Json = dict[str, Any]

KEY = fixed_secrets().allocation
CONDITIONS = ("T-HAPPE", "O-HAPPE", "B-HAPPE", "ondemand")
GROUPS = 96  # a participant's four runs of an application
WATTS = {"T-HAPPE": 21.0, "O-HAPPE": 22.0, "B-HAPPE": 21.5, "ondemand": 26.0}
RATE_HZ, SECONDS = 200, 10
MOST_BY_CHANCE = 38  # of 96 guesses with a chance of a quarter: three and a third standard deviations above 24
LEAST_OF_ALL = 80  # of 96 guesses on v0.1's data: 91 are right by sizes, 93 by watts


@pytest.fixture
def seal() -> Seal:
    return Seal(bytes(range(KEY_BYTES)), str(UUID(int=7)), 3)


@given(size=st.integers(12, 3 * CHUNK), room=st.sampled_from([4096, CHUNK - 8, CHUNK, 3 * CHUNK]))
def test_a_sealed_part_opens_as_it_was_and_its_size_tells_its_room_alone(
    tmp_path_factory: pytest.TempPathFactory, size: int, room: int
) -> None:
    path, made = tmp_path_factory.mktemp("sealed") / "part", Seal(bytes(KEY_BYTES), "a", 0)
    content = random.Random(size).randbytes(size)
    write(made, path, content, room)
    assert path.stat().st_size == sealed_bytes(size, room) == sealed_bytes(-(-size // room) * room, room)
    with path.open("rb") as file:
        assert made.whole(file) == content


def write(made: Seal, path: Path, content: bytes, room: int = 4096) -> None:
    with path.open("wb", buffering=0) as file:
        writing = made.writing(file, len(content), room)
        for begin in range(0, len(content), 100_000):
            writing.add(content[begin : begin + 100_000])
        writing.end()
        assert hashlib.sha256(path.read_bytes()).hexdigest() == writing.sha256


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content[: 24 + CHUNK + 17],  # a whole chunk without the end
        lambda content: content + b"x",
        lambda content: content[:24] + content[24 + CHUNK + 17 :],
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    ],
    ids=["empty", "header", "shorter", "chunk", "longer", "first", "bit"],
)
def test_a_part_that_was_damaged_or_cut_short_does_not_open(
    seal: Seal, tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "part"
    write(seal, path, bytes(2 * CHUNK))
    path.write_bytes(spoil(path.read_bytes()))
    with path.open("rb") as file, pytest.raises(SealError, match=r"does not open|after its end"):
        seal.whole(file)


def test_a_part_opens_under_its_own_name_and_key_alone(seal: Seal, tmp_path: Path) -> None:
    path = tmp_path / "part"
    write(seal, path, b"watts")
    others = (Seal(bytes(KEY_BYTES), seal.trace, 3), Seal(seal.key, str(UUID(int=8)), 3), Seal(seal.key, seal.trace, 4))
    for other in others:
        with path.open("rb") as file, pytest.raises(SealError):
            other.whole(file)
    assert str(seal.key) not in repr(seal)


def test_a_sealed_manifest_is_as_long_whatever_its_gaps_are() -> None:
    plain, gaps = records.power_manifest(200), records.power_manifest(200, gaps=((3, 100), (90, 7), (150, 20)))
    assert gaps["gaps"]
    assert len({len(sealed_manifest(KEY, "a", each)) for each in (plain, gaps)}) == 1


def test_a_meter_that_announces_immense_parts_does_not_fill_the_disk() -> None:
    header = records.power_header() | {"rate_hz": 1e7, "part_seconds": 60}
    assert part_room(header, 1 << 20) == 1 << 20


@dataclass
class Measured:
    """A server with the power of 96 groups of four runs. `ondemand`: the place of ondemand's run in each group."""

    groups: list[list[str]]  # traces, in the order of the runs
    ondemand: list[int]
    known: list[str]  # SHA-256 of documents of the meter that a thief may guess
    folder: Path
    world: World


@pytest.fixture
def measured(small_world: World) -> Measured:
    """A server with a trace of one part for each run."""
    study = given_studies.study(small_world, protocol=given_studies.small())
    laptop, meter = given_devices.device(small_world, study), given_devices.device(small_world, study, "meter")
    client, chance = small_world.client(meter.token), np.random.default_rng(5)
    made = Measured([], [], [], small_world.config.traces_folder, small_world)
    for _group in range(GROUPS):
        order = [CONDITIONS[each] for each in chance.permutation(len(CONDITIONS))]
        made.ondemand.append(order.index("ondemand"))
        made.groups.append([])
        for condition in order:
            header = given_devices.header(study, meter, laptop, rate_hz=RATE_HZ)
            header["channels"] = header["channels"][:1]
            content = part(header, condition, chance)
            assert given_devices.put_trace(client, header).status_code == 201
            assert given_devices.put_part(client, header["id"], 0, content).status_code == 201
            manifest = json.dumps(manifest_for(header, content)).encode()
            address = f"/api/v1/traces/{header['id']}/seal"
            assert client.put(address, data=manifest, content_type="application/json").status_code == 200
            made.groups[-1].append(header["id"])
            made.known += [hashlib.sha256(each).hexdigest() for each in (content, manifest)]
    return made


def part(header: Json, condition: str, chance: np.random.Generator) -> bytes:
    """The part of a run. Under ondemand, watts are higher and vary more."""
    mean = WATTS[condition] + chance.normal(0, 0.8)
    watts = mean + chance.normal(0, mean - 15, RATE_HZ * SECONDS)
    return given_power.part(header, 0, 0, watts * 100, pair)


def pair(index: int) -> Json:
    since_us = index * 1_000_000 // RATE_HZ
    return {"index": index, "monotonic_us": 5_000_000_000 + since_us, "realtime_us": 1_793_440_000_000_000 + since_us}


def manifest_for(header: Json, content: bytes) -> Json:
    rows = RATE_HZ * SECONDS
    listed = {"number": 0, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    return {
        "format": "happe-power-manifest/1",
        "trace": header["id"],
        "count": 1,
        "parts": [listed | {"first_index": 0, "samples": rows}],
        "samples": rows,
        "end_index": rows,
        "gaps": [],
        "ended": pair(rows - 1),
        "time_base": [pair(0)],
    }


def right(measured: Measured, feature: Mapping[str, float]) -> int:
    """In how many groups ondemand's run has the highest value. Of equally high runs, a draw decides."""
    chance = random.Random(11)
    hits = 0
    for group, ondemand in zip(measured.groups, measured.ondemand, strict=True):
        most = max(feature[trace] for trace in group)
        hits += chance.choice([n for n, trace in enumerate(group) if feature[trace] == most]) == ondemand
    return hits


def by_database(file: Path) -> dict[str, dict[str, float]]:
    """Numbers about each trace that the database reveals: sizes, and lengths of texts and seals."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        for row in connection.execute("SELECT * FROM traces JOIN trace_parts ON traces.id = trace_parts.trace_id"):
            trace = str(UUID(row["client_id"]))
            for name in ("bytes", "stored_bytes", "parts", "seconds"):
                found[name][trace] = row[name]
            for name in ("header", "manifest", "manifest_sealed", "key_sealed"):
                if name in row.keys():  # noqa: SIM118 - a row's
                    found[f"length of {name}"][trace] = len(row[name] or b"")
    return found


def by_files(files: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Numbers about each trace that the files of parts reveal: length, compressed length, watts."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for trace, path in files.items():
        content = path.read_bytes()
        found["size"][trace] = len(content)
        found["compressed"][trace] = len(pa.Codec("zstd").compress(content, asbytes=True))
        found["mean watts"][trace] = mean_watts(content)
        found["bytes that are zero"][trace] = content.count(0)
    return found


def mean_watts(content: bytes) -> float:
    """The mean of a part's first column; if the bytes are no part, their mean as samples."""
    try:
        return float(pq.read_table(io.BytesIO(content)).column(0).to_numpy().mean())
    except (pa.ArrowException, OSError):
        return float(np.frombuffer(content[: len(content) // 2 * 2], "<i2").mean())


def files_of(measured: Measured, root: Path) -> dict[str, Path]:
    storage = Folder(root)
    return {trace: storage.part(UUID(trace), 0) for group in measured.groups for trace in group}


@pytest.mark.slow
def test_a_thief_without_the_secrets_guesses_ondemand_by_chance(measured: Measured, tmp_path: Path) -> None:
    source = Source(measured.world.config, fixed_secrets(), measured.world.database)
    making.make(source, tmp_path / "backup")
    # Given v0.1's data, the attack succeeds
    plain = tmp_path / "plain"
    plain.mkdir()
    opened = {trace: plain / trace for trace in files_of(measured, measured.folder)}
    for trace, path in opened.items():
        path.write_bytes(given_traces.kept(measured.world, trace, 0))
    before = {name: right(measured, feature) for name, feature in by_files(opened).items()}
    assert min(before["size"], before["mean watts"]) > LEAST_OF_ALL, before
    # Then it fails with database, folder and backup
    after = {
        f"{where}: {name}": right(measured, feature)
        for where, found in (
            ("database", by_database(tmp_path / "backup/server.db")),
            ("folder", by_files(files_of(measured, measured.folder))),
            ("backup", by_files(files_of(measured, tmp_path / "backup/traces"))),
        )
        for name, feature in found.items()
    }
    assert max(after.values()) <= MOST_BY_CHANCE, after
    # And a thief who guesses a meter's document finds no digest for comparison
    stolen = b"".join(path.read_bytes() for path in sorted((tmp_path / "backup").rglob("*")) if path.is_file())
    assert not [sha256 for sha256 in measured.known if sha256.encode() in stolen or bytes.fromhex(sha256) in stolen]


def test_a_manifest_is_sealed_until_its_study_is_unblinded_and_in_clear_afterwards(small_world: World) -> None:
    run = given_power.measured_run(small_world, seconds=10, rate_hz=1000, unblinded=False)
    with small_world.database.reading() as session:
        trace = session.scalars(select(Trace)).one()
        assert trace.manifest is None
        assert manifest_of(trace, KEY) == run.manifest
        with pytest.raises(SealError):
            manifest_of(trace, fixed_secrets("another").allocation)
        study = trace.study_id
    unblind(small_world, study)
    with small_world.database.reading() as session:
        trace = session.scalars(select(Trace)).one()
        assert (trace.manifest, trace.manifest_sealed) == (run.manifest, None)
        assert manifest_of(trace, KEY) == run.manifest
        digests = list(session.scalars(select(TracePart.digest)))
    assert len(set(digests)) == len(run.manifest["parts"])


def unblind(world: World, study_id: int) -> Check:
    with world.database.writing() as session:
        study = session.get_one(Study, study_id)
        order = Order(None, "the last participant is done", study.name)
        return unblinding.unblind(session, study, fixed_secrets(), order)


def test_a_manifest_that_was_exchanged_is_named_by_check_and_at_unblinding(small_operated: Operated) -> None:
    world = small_operated.world
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    assert small_operated.run("check").status == 0
    with world.database.writing() as session:
        trace = session.scalars(select(Trace)).one()
        trace.manifest_sealed = sealed_manifest(KEY, str(uuid4()), run.manifest)
        study = trace.study_id
    said = f"the manifest or the key of {run.trace} does not open"
    assert [each["detail"] for each in small_operated.run("check", "--json").json() if each["verdict"] == "fail"] == [
        said
    ]
    assert unblind(world, study).summary()["unreadable_traces"] == [run.trace]
