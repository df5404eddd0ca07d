# SPDX-License-Identifier: GPL-2.0-or-later
"""Without the secrets, the database reveals nothing of the runs' records, and nobody can change them unseen."""

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import select, update
from sqlalchemy.engine import make_url
from structlog.testing import capture_logs

import given_studies
import records
from happe_study.base.database import Base
from happe_study.model.rights import Role
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.operations import backup as backups
from happe_study.operations import postgresql
from happe_study.study.records.stored import Stored, opened, stored
from happe_study.study.sealing import SealError, record_digest
from leaks import LABELS, SOME_DIFFER, same_chances, server
from operated import Operated
from postgres import ON_BOTH
from test_erasure import Played, played, withdraw
from world import World, fixed_secrets

KEY = fixed_secrets().allocation
# Words that only a record has, and its words about the condition.
TELLING = (b"happe-run/1", b'"util_ppm"', b'"cur_khz"', b"up_threshold", b"userspace", b"2200000", *LABELS)
ZSTD = bytes.fromhex("28b52ffd")
FRAME = 1 << 16  # a frame of a test's record ends within so many bytes after the mark
# Columns that differ by chance between servers, and have the same length on both.
SEALED = {
    ("audit_details", "salt"),
    ("audit_entries", "chain_sha256"),
    ("audit_entries", "detail_sha256"),
    ("audit_head", "chain_sha256"),
    ("devices", "public_key"),
    ("run_records", "client_id"),
    ("run_records", "digest"),
    ("run_records", "document"),
    ("runs", "condition_sealed"),
    ("runs", "start_sealed"),
    ("slots", "plan_sealed"),
    ("studies", "commitment"),
    ("studies", "seed_sealed"),
    ("trace_parts", "digest"),
    ("trace_parts", "sha256"),
    ("traces", "key_sealed"),
    ("traces", "manifest_digest"),
    ("traces", "manifest_sealed"),
}


def made_of(seconds: int, seed: int, *, kernel: bool) -> Stored:
    """A record as the server stores it."""
    record = records.make("AAAAAAAA", seconds, seed, kernel=kernel)
    return stored(KEY, "AAAAAAAA", records.encode(record), record)


@pytest.mark.parametrize("seconds", [1, 5, 60, 120, 290, 300, 310, 600, 1800])
def test_a_sealed_records_length_follows_from_its_samples_alone(seconds: int) -> None:
    lengths = {len(made_of(seconds, seed, kernel=kernel).document) for seed in range(4) for kernel in (True, False)}
    assert len(lengths) == 1


def test_a_record_that_compresses_badly_is_kept_whole() -> None:
    record = records.make("AAAAAAAA", 1) | {"notes": [sha256(bytes([n])).hexdigest() for n in range(256)]}
    raw = records.encode(record)
    assert opened(KEY, "AAAAAAAA", stored(KEY, "AAAAAAAA", raw, record).document) == raw


def test_a_sealed_record_opens_for_its_run_under_its_key_alone() -> None:
    sealed = made_of(5, 1, kernel=True).document
    another = fixed_secrets("another").allocation
    for key, code, document in (
        (another, "AAAAAAAA", sealed),
        (KEY, "BBBBBBBB", sealed),
        (KEY, "AAAAAAAA", sealed[:-1]),
        (KEY, "AAAAAAAA", b""),
        (KEY, "AAAAAAAA", bytes(len(sealed))),
    ):
        with pytest.raises(SealError):
            opened(key, code, document)


def test_the_digest_of_a_record_tells_nobody_without_the_key_what_was_sent() -> None:
    record = records.make("AAAAAAAA", 5)
    raw = records.encode(record)
    kept, plain = stored(KEY, "AAAAAAAA", raw, record), sha256(raw).hexdigest()
    other = fixed_secrets("another").allocation
    assert kept.digest == record_digest(KEY, plain)
    assert len({kept.digest, plain, record_digest(other, plain), stored(other, "AAAAAAAA", raw, record).digest}) == 3


@pytest.fixture
def players(world: World) -> list[Played]:
    """Two participants of one study, each with a completed run and its record."""
    study = given_studies.study(world, protocol=given_studies.small())
    return [played(world, study), played(world, study)]


def stolen(world: World, folder: Path) -> bytes:
    """All bytes of the database (SQLite's files, or a dump) except the protocols, which are no secret."""
    with world.database.writing() as session:
        session.execute(update(Study).values(protocol=""))
    if world.database.is_sqlite:
        file = Path(str(world.database.url.database))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return b"".join(path.read_bytes() for path in sorted(file.parent.glob(f"{file.name}*")))
    dump = folder / "dump.sql"
    url = make_url(world.config.url)
    where = f"host={url.query['host']} user={url.username} dbname={url.database}"
    subprocess.run([postgresql.program("pg_dump"), f"--dbname={where}", f"--file={dump}"], check=True)
    content = dump.read_bytes()
    return content + b"".join(bytes.fromhex(each.decode()) for each in re.findall(rb"\\\\x((?:[0-9a-f]{2})+)", content))


def told(content: bytes) -> set[bytes]:
    """The telling words in these bytes, or in content that zstd has compressed in them."""
    every = [content, *(unpacked(content[found.start() :]) for found in re.finditer(re.escape(ZSTD), content))]
    return {word for word in TELLING for each in every if word in each}


def unpacked(content: bytes) -> bytes:
    """Decompress as much of the beginning of these bytes as zstd can."""
    whole = b""
    with pa.CompressedInputStream(pa.BufferReader(content[:FRAME]), "zstd") as stream:
        try:
            while piece := stream.read(64):
                whole += piece
        except OSError:
            pass
    return whole


@ON_BOTH
@pytest.mark.usefixtures("players")
def test_a_stolen_database_has_no_word_of_a_record(world: World, tmp_path: Path) -> None:
    assert told(stolen(world, tmp_path)) == set()


def test_two_databases_that_differ_in_the_allocation_alone_differ_in_seals_alone(
    tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, sizes, told_besides = [], [], []
    for name, seed in SOME_DIFFER:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "server.db").write_bytes(sqlite_template.read_bytes())
        same_chances(monkeypatch, 1)
        with capture_logs() as entries:
            made = server(folder, f"sqlite:///{folder / 'server.db'}", seed)
        rows.append(dict(cells(made.world)))
        backups.make(backups.Source(made.world.config, fixed_secrets(), made.world.database), folder / "backup.tar")
        made.world.close()
        paths = {re.sub("[0-9a-f]{64}", "SHA256", str(path.relative_to(folder))): path for path in folder.rglob("*")}
        sizes.append({name: path.stat().st_size for name, path in paths.items()})
        told_besides.append([sorted(counted(made.world)), [known(entry) for entry in entries]])
    assert sizes[0] == sizes[1]
    assert len([path for path in sizes[0] if path.endswith(".sealed")]) == 2, (
        "parts in the folder; the backup is one file"
    )
    assert told_besides[0] == told_besides[1]
    one, two = rows
    assert one.keys() == two.keys()
    different = {place for place in one if one[place] != two[place]}
    assert {place[:2] for place in different} <= SEALED | {("audit_details", "detail")}
    for place in different:
        if place[:2] in SEALED:
            assert len(one[place]) == len(two[place]), place
        if place[:2] == ("audit_details", "detail"):
            names = {name for name in one[place] if one[place][name] != two[place][name]}
            assert names <= {"commitment", "digest", "key_sha256", "manifest_digest"}, names
    assert {("run_records", "document"), ("runs", "condition_sealed")} <= {place[:2] for place in different}


def counted(world: World) -> Iterator[tuple[str, str, float]]:
    """The metrics, except for times."""
    watch: Any = world.app.wsgi_app
    for family in watch._metrics.registry.collect():  # noqa: SLF001 - as Prometheus asks
        for sample in family.samples:
            if not sample.name.startswith("happe_request_seconds") and not sample.name.endswith("_created"):
                yield sample.name, json.dumps(sample.labels, sort_keys=True), sample.value


def known(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the log without its duration, which differs by chance."""
    return {name: value for name, value in entry.items() if name != "ms"}


def cells(world: World) -> Iterator[tuple[tuple[str, str, int], Any]]:
    """Every value of every table, by table, column and row."""
    with world.database.reading() as session:
        for table in Base.metadata.sorted_tables:
            for number, row in enumerate(session.execute(select(table).order_by(*table.primary_key)).mappings()):
                yield from (((table.name, column, number), value) for column, value in row.items())


def damage(world: World, code: str) -> None:
    """Change one bit of a run's record."""
    run = select(Run.id).where(Run.code == code).scalar_subquery()
    with world.database.writing() as session:
        document = bytearray(session.scalars(select(RunRecord.document).where(RunRecord.run_id == run)).one())
        document[len(document) // 2] ^= 1
        session.execute(update(RunRecord).where(RunRecord.run_id == run).values(document=bytes(document)))


def test_a_changed_record_is_named_at_unblinding_and_left_out_of_exports(world: World, players: list[Played]) -> None:
    one, other = players
    damage(world, one.runs[0])
    check = given_studies.unblind(world)
    assert (check.records, check.unreadable, check.agrees) == ([one.runs[0]], [], False)
    assert check.summary()["unreadable_records"] == [one.runs[0]]
    answer = world.staff(Role.ANALYST).post("/api/v1/studies/small/exports/records?format=jsonl")
    assert answer.status_code == 200
    assert one.runs[0] not in answer.text
    assert other.runs[0] in answer.text


def test_a_changed_record_does_not_keep_a_participant_from_withdrawing(world: World) -> None:
    someone = played(world, given_studies.study(world, protocol=given_studies.small()), "deidentify")
    damage(world, someone.runs[0])
    withdraw(world, someone)
    with world.database.reading() as session:
        assert session.scalars(select(RunRecord)).all() == []


def test_records_that_were_exchanged_are_named_at_unblinding(world: World, players: list[Played]) -> None:
    with world.database.writing() as session:
        first, second = session.scalars(select(RunRecord).order_by(RunRecord.id))
        first.document, second.document = second.document, first.document
    assert set(given_studies.unblind(world).records) == {each.runs[0] for each in players}


@pytest.mark.usefixtures("players")
def test_under_another_key_nothing_is_exported_or_taken_for_damaged(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_studies.unblind(world)
    analyst = world.staff(Role.ANALYST)
    with world.database.writing() as session:
        session.execute(update(RunRecord).values(taken_out=False))
    monkeypatch.setattr("happe_study.web.api.exports.parts", lambda: Other(world))
    answer = analyst.post("/api/v1/studies/small/exports/samples")
    assert (answer.status_code, answer.get_json()["type"]) == (409, "urn:happe:problem:wrong-key")
    with world.database.reading() as session:
        assert set(session.scalars(select(RunRecord.taken_out))) == {False}


class Other:
    """A server's parts, with other secrets."""

    def __init__(self, world: World) -> None:
        self.config, self.database, self.secrets = world.config, world.database, fixed_secrets("another")


def one_played(operated: Operated) -> Played:
    """Make a participant with a record."""
    return played(operated.world, given_studies.study(operated.world, protocol=given_studies.small()))


def test_check_names_the_runs_whose_records_were_changed(operated: Operated) -> None:
    someone = one_played(operated)
    assert operated.run("check").status == 0
    damage(operated.world, someone.runs[0])
    ran = operated.run("check", "--json")
    assert ran.status == 1
    (finding,) = [each for each in ran.json() if each["verdict"] == "fail"]
    assert finding["what"] == "records"
    assert finding["detail"] == f"1 of small do not open: of the runs {someone.runs[0]}"


def test_check_says_of_another_key_that_it_is_another(operated: Operated) -> None:
    one_played(operated)
    (operated.data / "secrets/allocation.key").write_text(fixed_secrets("another").allocation.hex())
    findings = [each for each in operated.run("check", "--json").json() if each["verdict"] == "fail"]
    assert [each["what"] for each in findings] == ["secrets", "allocation"]
    assert "does not open with this allocation key" in findings[1]["detail"]
