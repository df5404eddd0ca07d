# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the secrets, nobody can learn from power in database, folder and backup which run had which condition."""

import random
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

import given_power
import given_studies
import records
from happe_study.model.traces import Trace, TracePart
from happe_study.study.sealing import SealError
from happe_study.study.traces.sealed import KEY_BYTES, Seal, manifest_of, part_room, sealed_bytes, sealed_manifest
from operated import Operated
from world import World, fixed_secrets

KEY = fixed_secrets().allocation


@pytest.fixture
def seal() -> Seal:
    return Seal(bytes(range(KEY_BYTES)), str(UUID(int=7)), 3)


@given(size=st.integers(12, 20_000), room=st.sampled_from([4096, 5000]))
def test_a_sealed_part_opens_as_it_was_and_its_size_tells_its_room_alone(size: int, room: int) -> None:
    content, made = random.Random(size).randbytes(size), Seal(bytes(KEY_BYTES), "a", 0)
    sealed = made.sealed(content, room)
    assert len(sealed) == sealed_bytes(size, room) == sealed_bytes(-(-size // room) * room, room)
    assert made.opened(sealed) == content


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    ],
    ids=["empty", "header", "shorter", "longer", "bit"],
)
def test_a_part_that_was_damaged_or_cut_short_does_not_open(seal: Seal, spoil: Callable[[bytes], bytes]) -> None:
    with pytest.raises(SealError, match="does not open"):
        seal.opened(spoil(seal.sealed(bytes(5000), 4096)))


def test_a_part_opens_under_its_own_name_and_key_alone(seal: Seal) -> None:
    sealed = seal.sealed(b"watts", 4096)
    others = (Seal(bytes(KEY_BYTES), seal.trace, 3), Seal(seal.key, str(UUID(int=8)), 3), Seal(seal.key, seal.trace, 4))
    for other in others:
        with pytest.raises(SealError):
            other.opened(sealed)
    assert str(seal.key) not in repr(seal)


def test_a_sealed_manifest_is_as_long_whatever_its_gaps_are() -> None:
    plain, gaps = records.power_manifest(200), records.power_manifest(200, gaps=((3, 100), (90, 7), (150, 20)))
    assert gaps["gaps"]
    assert len({len(sealed_manifest(KEY, "a", each)) for each in (plain, gaps)}) == 1


def test_a_meter_that_announces_immense_parts_does_not_fill_the_disk() -> None:
    header = records.power_header() | {"rate_hz": 1e7, "part_seconds": 60}
    assert part_room(header, 1 << 20) == 1 << 20


def test_a_manifest_is_sealed_until_its_study_is_unblinded_and_in_clear_afterwards(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    with world.database.reading() as session:
        trace = session.scalars(select(Trace)).one()
        assert trace.manifest is None
        assert manifest_of(trace, KEY) == run.manifest
        with pytest.raises(SealError):
            manifest_of(trace, fixed_secrets("another").allocation)
    given_studies.unblind(world)
    with world.database.reading() as session:
        trace = session.scalars(select(Trace)).one()
        assert (trace.manifest, trace.manifest_sealed) == (run.manifest, None)
        assert manifest_of(trace, KEY) == run.manifest
        digests = list(session.scalars(select(TracePart.digest)))
    assert len(set(digests)) == len(run.manifest["parts"])


def test_neither_database_nor_folder_has_a_digest_with_which_a_thief_could_compare(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    stolen = b"".join(path.read_bytes() for path in world.config.data.rglob("*") if path.is_file())
    assert UUID(run.trace).hex.encode() in stolen
    known = [each["sha256"] for each in run.manifest["parts"]]
    assert known
    assert not [sha256 for sha256 in known if sha256.encode() in stolen or bytes.fromhex(sha256) in stolen]


def test_a_manifest_that_was_exchanged_is_named_by_check_and_at_unblinding(operated: Operated) -> None:
    world = operated.world
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    assert operated.run("check").status == 0
    with world.database.writing() as session:
        trace = session.scalars(select(Trace)).one()
        trace.manifest_sealed = sealed_manifest(KEY, str(uuid4()), run.manifest)
    said = f"the manifest or the key of {run.trace} does not open"
    assert [each["detail"] for each in operated.run("check", "--json").json() if each["verdict"] == "fail"] == [said]
    assert given_studies.unblind(world).summary()["unreadable_traces"] == [run.trace]
