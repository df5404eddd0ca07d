# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server check` finds every fault, gives advice, and finds nothing in a good server."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import given_jobs
import given_traces
from happe_study.study.traces import storage, upkeep
from in_process import Ran
from operated import Operated

LONG_AGO = 1_000_000_000  # in 2001, in seconds


def verdicts(ran: Ran) -> dict[str, set[str]]:
    """The verdicts of `check --json`, by subject."""
    found: dict[str, set[str]] = {}
    for finding in ran.json():
        found.setdefault(finding["what"], set()).add(finding["verdict"])
    return found


def one(ran: Ran, verdict: str) -> dict[str, Any]:
    """The only finding with a verdict."""
    (finding,) = [each for each in ran.json() if each["verdict"] == verdict]
    return dict(finding)


def age(path: Path) -> None:
    """Make a file old."""
    os.utime(path, (LONG_AGO, LONG_AGO))


@pytest.fixture
def parts(operated: Operated) -> list[Path]:
    """The files of a trace of three parts."""
    return given_traces.uploaded(operated.world, 3).files


def test_a_server_with_traces_is_well(operated: Operated, parts: list[Path]) -> None:
    assert all(part.is_file() for part in parts)
    for options in ([], ["--deep"]):
        ran = operated.run("check", "--json", *options)
        assert ran.status == 0, ran.out
        assert {verdict for found in verdicts(ran).values() for verdict in found} == {"ok"}


def test_a_part_that_is_gone_is_missing_and_a_shorter_one_is_damaged(operated: Operated, parts: list[Path]) -> None:
    content = parts[1].read_bytes()
    parts[1].unlink()
    missing = operated.run("check", "--json")
    parts[1].write_bytes(content[:-1])
    shorter = operated.run("check", "--json")
    assert missing.status == shorter.status == 1
    assert one(missing, "fail")["detail"].endswith("/1 is missing")
    assert one(shorter, "fail")["detail"].endswith("/1 differs from what the server received")


def test_a_changed_part_is_found_by_reading_it(operated: Operated, parts: list[Path]) -> None:
    content = bytearray(parts[0].read_bytes())
    content[len(content) // 2] ^= 1
    parts[0].write_bytes(content)
    assert operated.run("check").status == 0
    ran = operated.run("check", "--deep", "--json")
    assert ran.status == 1
    assert one(ran, "fail")["detail"].endswith("/0 differs from what the server received")


def test_a_part_that_no_row_names_is_an_orphan_once_it_is_old(
    operated: Operated, parts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts[0].with_name(f"00007-{'ab' * 32}.sealed").write_bytes(b"what an upload left that died before its commit")
    assert verdicts(operated.run("check", "--json"))["traces"] == {"ok"}
    monkeypatch.setattr(storage, "LEFT_ALONE_SECONDS", -1)
    ran = operated.run("check", "--json")
    assert ran.status == 0
    assert one(ran, "warn")["detail"].startswith("the database does not know ")
    assert "1 unknown ones wait" in operated.run("check", "--sweep").out


def test_what_was_never_finished_is_told_once_it_is_old(operated: Operated, parts: list[Path]) -> None:
    left = parts[0].with_name("00003-0123456789abcdef.upload")
    left.write_bytes(b"half")
    (operated.data / ".restoring").mkdir()
    assert "leftovers" not in verdicts(operated.run("check", "--json"))
    age(left)
    age(operated.data / ".restoring")
    report = given_jobs.left_behind(operated.data)
    assert verdicts(operated.run("check", "--json"))["leftovers"] == {"warn"}
    assert f"{left} was never finished" in operated.run("check").out
    assert str(left) not in operated.run("check", "--sweep").out
    assert not left.exists()
    assert not report.exists()


def test_sweeping_touches_no_part_that_a_row_names(
    operated: Operated, parts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    orphan = parts[0].with_name(f"00007-{'ab' * 32}.sealed")
    orphan.write_bytes(b"what an upload left that died before its commit")
    operated.done("check", "--sweep")
    assert orphan.exists()
    monkeypatch.setattr(upkeep, "WAIT_SECONDS", 0)
    operated.done("check", "--sweep")
    assert not orphan.exists()
    assert operated.run("check", "--deep").status == 0


@pytest.mark.parametrize(
    ("change", "what", "said"),
    [
        (lambda data: data.chmod(0o750), "folders", "other users may enter it (mode 750)"),
        (lambda data: (data / "secrets").chmod(0o755), "folders", "other users may enter it (mode 755)"),
        (lambda data: (data / "secrets/session.key").unlink(), "secrets", "session.key"),
        (lambda data: (data / "secrets/password.key").chmod(0o604), "secrets", "others can read it (mode 604)"),
    ],
    ids=["data", "secrets", "missing", "readable"],
)
def test_what_others_could_read_is_a_failure(
    operated: Operated, change: Callable[[Path], None], what: str, said: str
) -> None:
    change(operated.data)
    ran = operated.run("check", "--json")
    assert ran.status == 1
    finding = one(ran, "fail")
    assert finding["what"] == what
    assert said in finding["detail"]
    assert finding["advice"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"listen": "0.0.0.0:8080", "trusted_proxies": 1}, "other machines reach 0.0.0.0:8080 without TLS"),
        ({"public_url": "https://study.example.org"}, "public_url is https, but no proxy is trusted"),
    ],
)
def test_a_configuration_that_works_and_is_not_wise_is_a_warning(
    operated: Operated, fields: dict[str, object], said: str
) -> None:
    operated.configure(**fields)
    ran = operated.run("check", "--json")
    assert ran.status == 0
    assert said in one(ran, "warn")["detail"]


def test_a_configuration_that_others_may_write_is_a_warning(operated: Operated) -> None:
    operated.file.chmod(0o666)
    assert "other users can write to it" in one(operated.run("check", "--json"), "warn")["detail"]


def test_a_password_in_the_configuration_is_a_warning_that_does_not_repeat_it(operated: Operated) -> None:
    operated.configure(database_url="postgresql+psycopg://ada:geheim@127.0.0.1:1/none")
    ran = operated.run("check", "--json")
    assert ran.status == 1
    assert "it holds a password" in one(ran, "warn")["detail"]
    assert "it does not answer" in one(ran, "fail")["detail"]
    assert "geheim" not in ran.out + ran.err


@pytest.mark.parametrize("lost", [slice(0, 4096), slice(8192, 49152)], ids=["header", "pages"])
def test_a_damaged_database_is_a_failure_and_the_rest_is_still_checked(
    operated: Operated, sqlite_url: str, lost: slice
) -> None:
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    content = bytearray(file.read_bytes())
    content[lost] = b"\xa5" * (lost.stop - lost.start)
    file.write_bytes(content)
    ran = operated.run("check", "--json")
    assert (ran.status, ran.err) == (1, "")
    assert one(ran, "fail")["what"] == "database"
    assert one(ran, "fail")["advice"] == "restore a backup"
    assert verdicts(ran)["room"] == {"ok"}


def test_little_room_is_a_warning_and_none_a_failure(operated: Operated) -> None:
    free = os.statvfs(operated.data)
    room = free.f_bavail * free.f_frsize
    operated.configure(**{"limits.free_bytes": room // 2})
    assert verdicts(operated.run("check", "--json"))["room"] == {"warn"}
    operated.configure(**{"limits.free_bytes": 2 * room})
    ran = operated.run("check", "--json")
    assert ran.status == 1
    assert verdicts(ran)["room"] == {"fail"}


def test_a_broken_audit_log_is_a_failure(operated: Operated) -> None:
    with operated.world.database.writing() as session:
        session.execute(text("UPDATE audit_head SET number = 7"))
    ran = operated.run("check", "--json")
    assert ran.status == 1
    assert one(ran, "fail")["detail"] == "head at 0"


def test_another_programs_database_is_a_failure_with_its_cure(operated: Operated) -> None:
    with operated.world.database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    ran = operated.run("check", "--json")
    assert ran.status == 1
    assert one(ran, "fail")["advice"] == "run the program that made it"


def test_people_read_a_line_for_each_thing(operated: Operated) -> None:
    ran = operated.done("check")
    assert [line[:4] for line in ran.out.splitlines()] == ["ok  "] * 6
